/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/inputs.h"
#include "cmd/view.h"

int view_open(struct view *view, char *const *paths, int n, struct diag *diag)
{
	struct policy *policy;
	int error = inputs_policy(paths, n, NULL, diag, &policy);

	if (error)
		return error;
	*view = (struct view){
		.policy = policy,
		.source = judge_policy(policy),
		.compiled = policy,
	};
	return 0;
}

void view_close(struct view *view)
{
	policy_free(view->compiled);
}
