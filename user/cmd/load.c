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

struct request {
	struct node_options node;
	bool verbose, stage;
	const char *activate; /* the staged policy's generation; NULL: the operands are loaded */
};

static void report_in_force(const struct request *request, const struct node_change *change)
{
	static const char *const by[] = {
		[NODE_HOOK_NONE] = "",
		[NODE_HOOK_TCX] = " by TCX links",
		[NODE_HOOK_CLSACT] = " by clsact filters (TCX needs Linux 6.6)",
	};

	if (request->activate)
		printf("endpoint generation %u is active\n", change->endpoint_generation);
	printf("generation %" PRIu64 " is in force%s: %u endpoints guarded%s, %u uplinks",
	       change->generation, change->map_writes ? "" : " already", change->endpoints,
	       by[change->tc], change->uplinks);
	if (change->ports)
		printf(", %u other bridge ports", change->ports);
	printf("\n");
	if (change->adopted)
		printf("%u open connections taken over\n", change->adopted);
	if (change->replaced)
		printf("the programs were replaced\n");
	if (change->needs.part)
		printf("%u of %u endpoints, %u of %u segments are needed here\n",
		       change->needs.endpoints, change->needs.of_endpoints, change->needs.segments,
		       change->needs.of_segments);
}

static struct json_object *json_needs(const struct node_needs *needs)
{
	struct json_object *object = json_object_new_object();

	json_add_number(object, "endpoints", needs->endpoints);
	json_add_number(object, "of_endpoints", needs->of_endpoints);
	json_add_number(object, "segments", needs->segments);
	json_add_number(object, "of_segments", needs->of_segments);
	return object;
}

static void report_json(const struct call *call, const struct node_change *change)
{
	struct json_object *root = json_object_new_object();

	json_add_number(root, "generation", change->generation);
	json_add_number(root, "policy_generation", change->policy_generation);
	json_add_number(root, "endpoint_generation", change->endpoint_generation);
	json_add_number(root, "endpoints", change->endpoints);
	json_add_number(root, "uplinks", change->uplinks);
	json_add_number(root, "ports", change->ports);
	json_add_number(root, "adopted", change->adopted);
	json_add_bool(root, "programs_replaced", change->replaced);
	if (change->needs.part)
		json_add(root, "needed", json_needs(&change->needs));
	json_add_number(root, "map_writes", change->map_writes);
	json_print(root, call->pretty);
}

static void report(const struct call *call, const struct request *request,
		   const struct node_change *change)
{
	if (call->json)
		return report_json(call, change);
	if (request->stage)
		printf("policy generation %u is installed\n", change->policy_generation);
	else
		report_in_force(request, change);
	if (request->verbose)
		printf("%" PRIu64 " map writes\n", change->map_writes);
}

static int staged_policy(struct host *host, const char *generation, struct policy **policy)
{
	int error = host ? node_staged(host, policy) : 0;
	char *end;

	if (error)
		return error;
	if (*policy && (*policy)->generation == strtoul(generation, &end, 10) && !*end)
		return 0;
	command_error("no policy of generation %s is staged here", generation);
	return -EINVAL;
}

static int load(const struct call *call, const struct request *request)
{
	struct diag diag = {.to = stderr};
	struct node_change change;
	struct host *host = NULL;
	const struct policy *base = NULL;
	struct policy *policy = NULL;
	int error = node_open(&request->node, !request->activate, &diag, &host);

	/* Under the lock, so that it succeeds what is in force when it gets there. */
	if (!error && request->activate)
		error = staged_policy(host, request->activate, &policy);
	else if (!error)
		error = node_policy(host, &base);
	if (!error && !request->activate)
		error = inputs_policy(call->operands, call->n_operands, base, &diag, &policy, NULL);
	if (!error && request->stage)
		error = node_stage(host, policy, &change);
	else if (!error)
		error = node_load(host, policy, &change);
	if (!error)
		report(call, request, &change);
	policy_free(policy);
	node_close(host);
	return status_of(error);
}

enum {
	ROLLBACK_ID = PIN_ID + 1,
	AUDIT_ID,
	NO_ADOPT_ID,
	STAGE_ID,
	ACTIVATE_ID,
	SET_ID,
	PEERS_ID,
	FORCE_ID
};

static const struct command_option options[] = {
	{'n', "node", "NODE",
	 "which node this is; else as the input says, as before, or the host's name"},
	{'u', "uplink", "IFACE",
	 "an uplink (repeatable); else as the input says, else by default route"},
	PIN_OPTION,
	{STAGE_ID, "stage", NULL,
	 "install the policy's segments, put nobody in them yet; a policy has to be in force"},
	{ACTIVATE_ID, "activate", "GEN",
	 "put the staged policy of this generation in force; no INPUT"},
	{AUDIT_ID, "audit", NULL, "drop nothing: count and report what would have been"},
	{NO_ADOPT_ID, "no-adopt", NULL,
	 "first load: do not take over the connections that are open"},
	{SET_ID, "set", "NAME=N",
	 "first load: connections, half-open, timeout-tcp ... (seconds), event-rate, redirect"},
	{PEERS_ID, "peers", "all|needed",
	 "which endpoints of other nodes the maps have; else as the last load said, at first all"},
	{FORCE_ID, "force", NULL,
	 "load what looks like a slip: no objects, another node's name, endpoints taken off"},
	{ROLLBACK_ID, "rollback", NULL, "allow an older generation than the one in force"},
	{'v', "verbose", NULL, "print how many map writes it took"},
	{0},
};

static enum node_peers parse_peers(const struct call *call)
{
	if (!strcmp(call->value, "all"))
		return NODE_PEERS_ALL;
	if (strcmp(call->value, "needed"))
		call_usage_error(call, "--peers is all or needed");
	return NODE_PEERS_NEEDED;
}

static int run(struct call *call)
{
	/* No more of either than there are arguments. */
	const char **uplinks = calloc(call->argc, 2 * sizeof(*uplinks));
	const char **settings = uplinks ? uplinks + call->argc : NULL;
	struct request request = {.node.uplinks = uplinks, .node.settings = settings};
	int option, status;

	if (!uplinks)
		return status_of(-ENOMEM);
	while ((option = call_option(call)) != -1) {
		switch (option) {
		case 'n':
			request.node.name = call->value;
			break;
		case 'u':
			uplinks[request.node.n_uplinks++] = call->value;
			break;
		case PIN_ID:
			request.node.pin = call->value;
			break;
		case STAGE_ID:
			request.stage = true;
			break;
		case ACTIVATE_ID:
			request.activate = call->value;
			break;
		case AUDIT_ID:
			request.node.audit = true;
			break;
		case NO_ADOPT_ID:
			request.node.no_adopt = true;
			break;
		case SET_ID:
			settings[request.node.n_settings++] = call->value;
			break;
		case PEERS_ID:
			request.node.peers = parse_peers(call);
			break;
		case FORCE_ID:
			request.node.force = true;
			break;
		case ROLLBACK_ID:
			request.node.rollback = true;
			break;
		case 'v':
			request.verbose = true;
			break;
		}
	}
	if (request.activate && (call->n_operands || request.stage || request.node.peers))
		call_usage_error(call, "--activate takes what is staged, and nothing else");
	if (!call->n_operands && !request.activate)
		call_usage_error(call, "what is to be loaded?");
	status = load(call, &request);
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
