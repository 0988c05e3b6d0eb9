// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead engine`: compiles the API server's objects and rolls the policy out to all nodes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/rollout.h"
#include "cmd/command.h"
#include "cmd/signals.h"
#include "model/diag_log.h"

enum { KUBECONFIG_ID = PIN_ID + 1, LEASE_ID, LIMIT_ID, LISTEN_ID, HEALTH_ID };

static const struct command_option options[] = {
	{KUBECONFIG_ID, "kubeconfig", "FILE",
	 "the file that says where the API server is; else $KUBECONFIG, a pod's service account, "
	 "~/.kube/config"},
	{LEASE_ID, "lease-namespace", "NS",
	 "the namespace of the engines' lease, else bulkhead-system"},
	{LIMIT_ID, "node-limit", "SECONDS",
	 "do not wait for a node that is silent for so long, else 40; nodes report within it"},
	{LISTEN_ID, "listen", "ADDRESS:PORT",
	 "serve metrics for Prometheus there: /metrics, and /healthz"},
	{HEALTH_ID, "health", "SOCKET",
	 "serve `bulkhead probe` at this Unix socket: whether the process runs, and is ready"},
	{0},
};

/* Returns the option's seconds. Ends the process if the value is no number within the limits. */
static unsigned int node_limit(const struct call *call)
{
	char *end;
	unsigned long limit = strtoul(call->value, &end, 10);

	if (*end || limit < ROLLOUT_LIMIT_MIN || limit > ROLLOUT_LIMIT_MAX)
		call_value_error(call, "not a number of seconds from %d to %d", ROLLOUT_LIMIT_MIN,
				 ROLLOUT_LIMIT_MAX);
	return limit;
}

static int run(struct call *call)
{
	struct engine_options engine = {.lease_namespace = "bulkhead-system",
					.node_seconds = ROLLOUT_LIMIT_DEFAULT};
	struct diag_log log = {0};
	struct diag diag = {.to = stderr, .log = &log};
	char host[HOST_NAME_MAX + 1] = "", identity[HOST_NAME_MAX + 32];
	int option, stop, status;

	while ((option = call_option(call)) != -1) {
		if (option == KUBECONFIG_ID)
			engine.kubeconfig = call->value;
		else if (option == LEASE_ID)
			engine.lease_namespace = call->value;
		else if (option == LISTEN_ID)
			engine.listen = call->value;
		else if (option == HEALTH_ID)
			engine.health = call->value;
		else
			engine.node_seconds = node_limit(call);
	}
	if (call->n_operands)
		call_usage_error(call, "%s: engine takes no operand", call->operands[0]);
	gethostname(host, sizeof(host) - 1);
	snprintf(identity, sizeof(identity), "%s_%d_%08x", host, getpid(), api_jitter(1u << 30));
	engine.identity = identity;
	stop = signals_open();
	status = stop < 0 ? STATUS_KERNEL : status_of(engine_run(&engine, &diag, stop));
	diag_log_close(&log);
	return status;
}

const struct command command_engine = {
	.name = "engine",
	.operands = "",
	.help = "compile the objects of a Kubernetes cluster, and roll the policy out to its nodes",
	.options = options,
	.run = run,
};
