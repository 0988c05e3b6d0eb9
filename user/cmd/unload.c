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

struct unload_request {
	struct node_options node;
	const char *state;
	bool dry_run, stays;
};

static const struct command_option options[] = {
	PIN_OPTION(struct unload_request, node.pin),
	STATE_OPTION(struct unload_request, state),
	DRY_RUN_OPTION(struct unload_request, dry_run),
	{0, "stay", NULL, "then stay until a signal comes: for a DaemonSet, whose pods do not end",
	 OPTION_FLAG(struct unload_request, stays)},
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
	struct unload_request request = {};
	const char *state;
	struct saved_mark mark = {};
	struct dry_run_print print;
	int error, signals = -1;

	call_options(call, &request);
	state = saved_dir(request.node.pin, request.state);
	if (state)
		saved_look(state, &mark);
	if (request.dry_run)
		dry_run_print_begin(&print, call, &request.node);
	/* a signal that comes meanwhile ends the process afterwards */
	if (request.stays && !request.dry_run)
		signals = signals_open();
	if (request.stays && !request.dry_run && signals < 0)
		return STATUS_KERNEL;
	error = node_unload(&request.node, &diag);
	if (request.dry_run)
		dry_run_print_end(&print, error);
	else if (!error)
		error = forget(state, &mark, &diag);
	if (call->json && !request.dry_run && !error)
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
