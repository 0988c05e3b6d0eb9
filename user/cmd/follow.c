// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead follow`: activates on this node what the cluster's engine rolls out. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cluster/rollout.h"
#include "cmd/command.h"
#include "cmd/event_print.h"
#include "cmd/metrics.h"
#include "cmd/signals.h"
#include "model/diag_log.h"
#include "node/change/saved.h"

#define RECORDS "/run/bulkhead/endpoints.d"

/* Prints a denial for log shippers, and for `monitor --cluster`. */
static void print_denial(struct monitor *monitor, const struct bh_event *event, const char *node,
			 uint64_t count)
{
	const struct event_printer printer = {
		.to = stdout, .json = true, .monitor = monitor, .node = node, .count = count};

	event_print(&printer, event, 0);
	fflush(stdout);
}

/* An empty name: no records are written. */
static void take_records(struct call *call, void *to)
{
	*(const char **)to = *call->value ? call->value : NULL;
}

static void take_denials(struct call *call, void *to)
{
	(void)call;
	*(denials_print **)to = print_denial;
}

static const struct command_option options[] = {
	{'n', "node", "NODE", "this node's name, else the host's",
	 OPTION_TEXT(struct follow_options, node)},
	{'u', "uplink", "IFACE", "an uplink (repeatable); else those of the default routes",
	 OPTION_LIST(struct follow_options, load.uplinks, load.n_uplinks)},
	{0, "resolver", "ADDRESS",
	 "a DNS server whose answers teach domain names (repeatable); else the Service "
	 "kube-system/kube-dns, else those of the node's resolv.conf",
	 OPTION_LIST(struct follow_options, load.resolvers, load.n_resolvers)},
	PIN_OPTION(struct follow_options, load.pin),
	STATE_OPTION(struct follow_options, state),
	{0, "kubeconfig", "FILE",
	 "the file that says where the API server is; else $KUBECONFIG, a pod's service account, "
	 "~/.kube/config",
	 OPTION_TEXT(struct follow_options, kubeconfig)},
	{0, "records", "DIR",
	 "where the CNI plugin finds who a pod is, else " RECORDS "; \"\": nowhere",
	 OPTION_TAKE(struct follow_options, records, take_records)},
	{0, "conf-dir", "DIR",
	 "keep the CNI plugin in those networks of this folder in which `cni install` put it: "
	 "another program may write a network anew",
	 OPTION_TEXT(struct follow_options, networks)},
	{0, "bin-dir", "DIR",
	 "where `cni install` put the plugin, else /opt/cni/bin; a plugin that is gone is not "
	 "kept",
	 OPTION_TEXT(struct follow_options, plugins)},
	{0, "audit", NULL, "drop nothing: count and report packets that policy would drop",
	 OPTION_FLAG(struct follow_options, load.audit)},
	SET_OPTION(struct follow_options, load),
	{0, "once", NULL, "end when the policy that the cluster wants is active here",
	 OPTION_FLAG(struct follow_options, once)},
	{0, "listen", "ADDRESS:PORT",
	 "serve metrics of node and follower for Prometheus there: /metrics, and /healthz",
	 OPTION_TEXT(struct follow_options, listen)},
	{0, "health", "SOCKET",
	 "serve `bulkhead probe` at this Unix socket: whether the process runs, and is ready",
	 OPTION_TEXT(struct follow_options, health)},
	{0, "denials", NULL, "report what policy denies: an Event on the pod, and a line of JSON",
	 OPTION_TAKE(struct follow_options, denials, take_denials)},
	{0},
};

static int run(struct call *call)
{
	struct follow_options follow = {.records = RECORDS,
					.plugins = "/opt/cni/bin",
					.metrics = metrics_write,
					.load.command = "follow",
					.load.quarantine = true,
					.load.rollback = true,
					.load.late = true,
					.load.keep_connections = true};
	struct diag_log log = {0};
	struct diag diag = {.to = stderr, .log = &log};
	char host[HOST_NAME_MAX + 1] = "";
	int status, stop;

	gethostname(host, sizeof(host) - 1);
	follow.node = host;
	call_options(call, &follow);
	follow.load.name = follow.node;
	stop = signals_open();
	status = stop >= 0 ? status_of(follow_run(&follow, &diag, stop)) : STATUS_KERNEL;
	diag_log_close(&log);
	return status;
}

const struct command command_follow = {
	.name = "follow",
	.operands = "",
	.help = "activate the policy that the cluster's engine rolls out on this node",
	.options = options,
	.run = run,
};
