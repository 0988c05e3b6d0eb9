// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead unload`: removes everything from the kernel. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/dry_run_print.h"
#include "cmd/signals.h"
#include "node/change/saved.h"
#include "node/node.h"

enum { STATE_ID = PIN_ID + 1, DRY_RUN_ID, STAY_ID };

static const struct command_option options[] = {
	PIN_OPTION,
	STATE_OPTION(STATE_ID),
	DRY_RUN_OPTION(DRY_RUN_ID),
	{STAY_ID, "stay", NULL,
	 "then stay until a signal comes: for a DaemonSet, whose pods do not end"},
	{0},
};

/* Removes the load that is kept for the next boot, unless another load has been kept since
 * @mark. */
static int forget(const char *state, const struct saved_mark *mark, struct diag *diag)
{
	int error = state ? saved_remove(state, mark) : 0;

	if (error)
		diag_error(diag, &(struct where){state, 0}, NULL,
			   "nothing is active any more, but the load that is kept for the node's "
			   "next start cannot be removed: %s",
			   strerror(-error));
	return error;
}

/* Waits for a signal that ends the process. @signals: as signals_open() returns it. */
static int stay(int signals)
{
	struct pollfd stop = {.fd = signals, .events = POLLIN};

	while (poll(&stop, 1, -1) <= 0)
		;
	return STATUS_OK;
}

static int run(struct call *call)
{
	struct diag diag = command_diag();
	struct node_options node = {};
	const char *state = NULL;
	struct saved_mark mark = {};
	bool dry_run = false, stays = false;
	struct dry_run_print print;
	int option, error, signals = -1;

	while ((option = call_option(call)) != -1) {
		if (option == STATE_ID)
			state = call->value;
		else if (option == DRY_RUN_ID)
			dry_run = true;
		else if (option == STAY_ID)
			stays = true;
		else
			node.pin = call->value;
	}
	if (call->n_operands)
		call_usage_error(call, "%s: unload takes no operand", call->operands[0]);
	state = saved_dir(node.pin, state);
	if (state)
		saved_look(state, &mark);
	if (dry_run)
		dry_run_print_begin(&print, call, &node);
	/* a signal that comes meanwhile ends the process afterwards */
	if (stays && !dry_run)
		signals = signals_open();
	if (stays && !dry_run && signals < 0)
		return STATUS_KERNEL;
	error = node_unload(&node, &diag);
	if (dry_run)
		dry_run_print_end(&print, error);
	else if (!error)
		error = forget(state, &mark, &diag);
	if (call->json && !dry_run && !error)
		printf("{\"unloaded\":true}\n");
	return signals >= 0 && !error ? stay(signals) : status_of(error);
}

const struct command command_unload = {
	.name = "unload",
	.operands = "",
	.help = "remove all programs and maps, and the load that is kept for the next boot",
	.options = options,
	.run = run,
};
