/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/inputs.h"
#include "cmd/view.h"
#include "compile/compile.h"

static int open_inputs(struct view *view, const struct call *call, struct diag *diag)
{
	int error = inputs_policy(call->operands, call->n_operands, NULL, diag, &view->compiled);

	if (error)
		return status_of(error);
	view->policy = view->compiled;
	view->source = judge_policy(view->policy);
	return STATUS_OK;
}

static int open_live(struct view *view, const char *pin, struct diag *diag)
{
	int error = live_open(pin, diag, &view->live);

	if (error)
		return status_of(error);
	if (!view->live) {
		command_error("nothing is in force here: give INPUT, or load a policy first");
		return STATUS_INPUT;
	}
	view->policy = live_policy(view->live);
	view->source = live_judge(view->live);
	return STATUS_OK;
}

int view_open(struct view *view, const struct call *call, const char *pin)
{
	struct diag diag = {.to = stderr};

	*view = (struct view){0};
	return call->n_operands ? open_inputs(view, call, &diag) : open_live(view, pin, &diag);
}

int view_open_objects(struct view *view, const struct call *call, struct cluster *cluster)
{
	struct diag diag = {.to = stderr};
	int error;

	*view = (struct view){0};
	if (!call->n_operands) {
		command_error("that takes the objects themselves: give INPUT");
		return STATUS_INPUT;
	}
	error = inputs_cluster(call->operands, call->n_operands, cluster, &diag);
	if (!error)
		error = compile_cluster(cluster, NULL, &diag, &view->compiled);
	if (error)
		return status_of(error);
	view->policy = view->compiled;
	view->source = judge_policy(view->policy);
	return STATUS_OK;
}

void view_close(struct view *view)
{
	policy_free(view->compiled);
	live_close(view->live);
}
