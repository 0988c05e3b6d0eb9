/* SPDX-License-Identifier: GPL-2.0-only */
/* What trace, matrix and show look at: the policy that inputs make, or the maps in force. */
#ifndef BULKHEAD_CMD_VIEW_H
#define BULKHEAD_CMD_VIEW_H

#include "compile/judge.h"

struct view {
	const struct policy *policy; /* names */
	struct judge_source source; /* verdicts */
	struct policy *compiled; /* to free */
};

/*
 * Returns 0; -EINVAL or -E2BIG, reported, where an input is bad; or another -errno, reported.
 * Close it after a success.
 */
int view_open(struct view *view, char *const *paths, int n, struct diag *diag);
void view_close(struct view *view);

#endif
