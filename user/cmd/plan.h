/* SPDX-License-Identifier: GPL-2.0-only */
/* --dry-run: what a command would change, step by step. */
#ifndef BULKHEAD_CMD_PLAN_H
#define BULKHEAD_CMD_PLAN_H

#include "cmd/command.h"
#include "cmd/json.h"
#include "node/node.h"

#define DRY_RUN_OPTION(id)                                                                   \
	{                                                                                    \
		id, "dry-run", NULL, "change nothing: print what would be changed, in order" \
	}

struct plan {
	struct json_object *steps; /* of -j; NULL: text */
	const char *change; /* the last one that was told */
	size_t n;
};

/* Has the node be told about in place of changed. */
void plan_begin(struct plan *plan, const struct call *call, struct node_options *options);

/* Ends what is printed, unless the command has failed. */
void plan_end(struct plan *plan, const struct call *call, int error);

#endif
