// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead load`: a policy into the kernel. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/inputs.h"
#include "cmd/json.h"
#include "node/node.h"

static void report(const struct call *call, bool verbose, const struct node_change *change)
{
	struct json_object *root;

	if (!call->json) {
		if (change->map_writes)
			printf("generation %" PRIu64 " is in force", change->generation);
		else
			printf("generation %" PRIu64 " is in force already", change->generation);
		printf(": %u endpoints guarded, %u uplinks\n", change->endpoints, change->uplinks);
		if (change->adopted)
			printf("%u open connections taken over\n", change->adopted);
		if (verbose)
			printf("%" PRIu64 " map writes\n", change->map_writes);
		return;
	}
	root = json_object_new_object();
	json_add_number(root, "generation", change->generation);
	json_add_number(root, "endpoints", change->endpoints);
	json_add_number(root, "uplinks", change->uplinks);
	json_add_number(root, "adopted", change->adopted);
	json_add_number(root, "map_writes", change->map_writes);
	json_print(root, call->pretty);
}

static int load(const struct call *call, const struct node_options *options, bool verbose)
{
	struct diag diag = {.to = stderr};
	struct node_change change;
	struct host *host = NULL;
	struct policy *policy = NULL;
	int error = node_open(options, true, &diag, &host);

	/* Under the lock, so that it succeeds what is in force when it gets there. */
	if (!error)
		error = inputs_policy(call->operands, call->n_operands, node_policy(host), &diag, &policy);
	if (!error)
		error = node_load(host, policy, &change);
	if (!error)
		report(call, verbose, &change);
	policy_free(policy);
	node_close(host);
	return status_of(error);
}

enum { ROLLBACK_ID = PIN_ID + 1, AUDIT_ID, NO_ADOPT_ID };

static const struct command_option options[] = {
	{'n', "node", "NODE", "which node this is; else as the input says, else the host's name"},
	{'u', "uplink", "IFACE", "an uplink (repeatable); else as the input says, else by default route"},
	PIN_OPTION,
	{AUDIT_ID, "audit", NULL, "drop nothing: count and report what would have been"},
	{NO_ADOPT_ID, "no-adopt", NULL, "first load: do not take over the connections that are open"},
	{ROLLBACK_ID, "rollback", NULL, "allow an older generation than the one in force"},
	{'v', "verbose", NULL, "print how many map writes it took"},
	{0},
};

static int run(struct call *call)
{
	const char **uplinks = calloc(call->argc, sizeof(*uplinks));
	struct node_options node = {.uplinks = uplinks};
	bool verbose = false;
	int option, status;

	if (!uplinks)
		return status_of(-ENOMEM);
	while ((option = call_option(call)) != -1) {
		switch (option) {
		case 'n':
			node.name = call->value;
			break;
		case 'u':
			uplinks[node.n_uplinks++] = call->value;
			break;
		case PIN_ID:
			node.pin = call->value;
			break;
		case AUDIT_ID:
			node.audit = true;
			break;
		case NO_ADOPT_ID:
			node.no_adopt = true;
			break;
		case ROLLBACK_ID:
			node.rollback = true;
			break;
		case 'v':
			verbose = true;
			break;
		}
	}
	if (!call->n_operands)
		call_usage_error(call, "what is to be loaded?");
	status = load(call, &node, verbose);
	free(uplinks);
	return status;
}

const struct command command_load = {
	.name = "load",
	.operands = "INPUT...",
	.help = "put a policy in force on this node, in one step, and exit",
	.options = options,
	.run = run,
};
