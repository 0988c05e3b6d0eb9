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

static void take_limit(struct call *call, void *to)
{
	*(unsigned int *)to =
		call_number(call, " of seconds", ROLLOUT_LIMIT_MIN, ROLLOUT_LIMIT_MAX);
}

static const struct command_option options[] = {
	{0, "kubeconfig", "FILE",
	 "the file that says where the API server is; else $KUBECONFIG, a pod's service account, "
	 "~/.kube/config",
	 OPTION_TEXT(struct engine_options, kubeconfig)},
	{0, "lease-namespace", "NS", "the namespace of the engines' lease, else bulkhead-system",
	 OPTION_TEXT(struct engine_options, lease_namespace)},
	{0, "node-limit", "SECONDS",
	 "do not wait for a node that is silent for so long, else 40; nodes report within it",
	 OPTION_TAKE(struct engine_options, node_seconds, take_limit)},
	{0, "listen", "ADDRESS:PORT", "serve metrics for Prometheus there: /metrics, and /healthz",
	 OPTION_TEXT(struct engine_options, listen)},
	{0, "health", "SOCKET",
	 "serve `bulkhead probe` at this Unix socket: whether the process runs, and is ready",
	 OPTION_TEXT(struct engine_options, health)},
	{0},
};

static int run(struct call *call)
{
	struct engine_options engine = {.lease_namespace = "bulkhead-system",
					.node_seconds = ROLLOUT_LIMIT_DEFAULT};
	struct diag_log log = {0};
	struct diag diag = {.to = stderr, .log = &log};
	char host[HOST_NAME_MAX + 1] = "", identity[HOST_NAME_MAX + 32];
	int stop, status;

	call_options(call, &engine);
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
