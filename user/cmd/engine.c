// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead engine`: compiles what a cluster's API server has, and rolls it out. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/cluster.h"
#include "cmd/command.h"

enum { KUBECONFIG_ID = PIN_ID + 1, LEASE_ID, LIMIT_ID, LISTEN_ID };

/* Longer than a lease lasts: an engine that hears no node since it hears nobody leads no more. */
#define LIMIT_MIN 20

static const struct command_option options[] = {
	{KUBECONFIG_ID, "kubeconfig", "FILE",
	 "where the API server is; else $KUBECONFIG, a pod's service account, ~/.kube/config"},
	{LEASE_ID, "lease-namespace", "NS", "where engines hold their lease, else bulkhead-system"},
	{LIMIT_ID, "node-limit", "SECONDS",
	 "a node that says nothing for so long is not waited for, else 40"},
	{LISTEN_ID, "listen", "ADDRESS:PORT",
	 "serve Prometheus's metrics there: /metrics, and /healthz"},
	{0},
};

static volatile int stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static unsigned int parse_limit(const struct call *call)
{
	char *end;
	unsigned long limit = strtoul(call->value, &end, 10);

	if (*end || limit < LIMIT_MIN || limit > 3600)
		call_usage_error(call, "--node-limit %s: %d to 3600 seconds", call->value,
				 LIMIT_MIN);
	return limit;
}

static int run(struct call *call)
{
	struct engine_options engine = {.lease_namespace = "bulkhead-system", .node_seconds = 40};
	struct diag diag = {.to = stderr};
	char host[HOST_NAME_MAX + 1] = "", identity[HOST_NAME_MAX + 32];
	int option;

	while ((option = call_option(call)) != -1) {
		if (option == KUBECONFIG_ID)
			engine.kubeconfig = call->value;
		else if (option == LEASE_ID)
			engine.lease_namespace = call->value;
		else if (option == LISTEN_ID)
			engine.listen = call->value;
		else
			engine.node_seconds = parse_limit(call);
	}
	if (call->n_operands)
		call_usage_error(call, "%s: engine takes no operand", call->operands[0]);
	gethostname(host, sizeof(host) - 1);
	snprintf(identity, sizeof(identity), "%s_%d_%08x", host, getpid(), api_jitter(1u << 30));
	engine.identity = identity;
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	return status_of(engine_run(&engine, &diag, &stopped));
}

const struct command command_engine = {
	.name = "engine",
	.operands = "",
	.help = "compile what a Kubernetes cluster has, and roll it out to its nodes",
	.options = options,
	.run = run,
};
