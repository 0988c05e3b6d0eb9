/* SPDX-License-Identifier: GPL-2.0-only */
/* What trace, matrix and show look at: the policy that inputs make, or the maps in force. */
#ifndef BULKHEAD_CMD_VIEW_H
#define BULKHEAD_CMD_VIEW_H

#include "cmd/command.h"
#include "compile/judge.h"
#include "node/observe/live.h"

struct view {
	const struct policy *policy; /* names */
	struct judge_source source; /* verdicts */
	struct policy *compiled; /* to free; NULL: the maps are looked at */
	struct cluster *cluster; /* to free; NULL: the maps and compiled files lack the objects */
	struct live *live; /* NULL: inputs are looked at */
};

/*
 * Looks at the call's operands or, where there are none, at the maps pinned under @pin (NULL: the
 * default). Returns 0, and the view is to be closed; else the exit status, reported.
 */
int view_open(struct view *view, const struct call *call, const char *pin);
void view_close(struct view *view);

/* For the options of a command that opens a view. */
#define VIEW_PIN_ID 256
#define VIEW_PIN_OPTION                                                                      \
	{                                                                                    \
		VIEW_PIN_ID, "pin", "DIR", "where the maps are pinned, if there is no INPUT" \
	}

#endif
