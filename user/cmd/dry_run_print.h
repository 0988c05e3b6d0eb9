/* SPDX-License-Identifier: GPL-2.0-only */
/* --dry-run: prints the change that a command would make, step by step. */
#ifndef BULKHEAD_CMD_DRY_RUN_PRINT_H
#define BULKHEAD_CMD_DRY_RUN_PRINT_H

#include "cmd/command.h"
#include "cmd/emit.h"
#include "node/node.h"

#define DRY_RUN_OPTION(type, field)                                                  \
	{                                                                            \
		0, "dry-run", NULL, "change nothing: print the steps of the change", \
			OPTION_FLAG(type, field)                                     \
	}

struct dry_run_print {
	struct emit emit;
	const char *change; /* name of the last change printed */
	size_t n;
};

/* Sets @options so that the node reports each step to @print and changes nothing. */
void dry_run_print_begin(struct dry_run_print *print, const struct call *call,
			 struct node_options *options);

/* Prints the end of the plan, unless the command failed. */
void dry_run_print_end(struct dry_run_print *print, int error);

#endif
