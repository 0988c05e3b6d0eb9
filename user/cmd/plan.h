/* SPDX-License-Identifier: GPL-2.0-only */
/* --dry-run: prints the change that a command would make, step by step. */
#ifndef BULKHEAD_CMD_PLAN_H
#define BULKHEAD_CMD_PLAN_H

#include "cmd/command.h"
#include "cmd/emit.h"
#include "node/node.h"

#define DRY_RUN_OPTION(id)                                                           \
	{                                                                            \
		id, "dry-run", NULL, "change nothing: print the steps of the change" \
	}

struct plan {
	struct emit emit;
	const char *change; /* name of the last change printed */
	size_t n;
};

/* Sets @options so that the node reports each step to @plan and changes nothing. */
void plan_begin(struct plan *plan, const struct call *call, struct node_options *options);

/* Prints the end of the plan, unless the command failed. */
void plan_end(struct plan *plan, int error);

#endif
