// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead unload`: everything out of the kernel again. */
#include <stdio.h>

#include "cmd/command.h"
#include "node/node.h"

static const struct command_option options[] = {
	PIN_OPTION,
	{0},
};

static int run(struct call *call)
{
	struct diag diag = {.to = stderr};
	struct node_options node = {};

	while (call_option(call) != -1)
		node.pin = call->value;
	if (call->n_operands)
		call_usage_error(call, "%s: unload takes no operand", call->operands[0]);
	return status_of(node_unload(&node, &diag));
}

const struct command command_unload = {
	.name = "unload",
	.operands = "",
	.help = "put nothing in force, and leave nothing behind",
	.options = options,
	.run = run,
};
