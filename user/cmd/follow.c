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

enum {
	KUBECONFIG_ID = PIN_ID + 1,
	RECORDS_ID,
	ONCE_ID,
	LISTEN_ID,
	HEALTH_ID,
	DENIALS_ID,
	CONF_ID,
	BIN_ID,
	AUDIT_ID,
	RESOLVER_ID,
	SET_ID,
	STATE_ID,
};

static const struct command_option options[] = {
	{'n', "node", "NODE", "this node's name, else the host's"},
	{'u', "uplink", "IFACE", "an uplink (repeatable); else those of the default routes"},
	{RESOLVER_ID, "resolver", "ADDRESS",
	 "a DNS server whose answers teach domain names (repeatable); else the Service "
	 "kube-system/kube-dns, else those of the node's resolv.conf"},
	PIN_OPTION,
	STATE_OPTION(STATE_ID),
	{KUBECONFIG_ID, "kubeconfig", "FILE",
	 "the file that says where the API server is; else $KUBECONFIG, a pod's service account, "
	 "~/.kube/config"},
	{RECORDS_ID, "records", "DIR",
	 "where the CNI plugin finds who a pod is, else " RECORDS "; \"\": nowhere"},
	{CONF_ID, "conf-dir", "DIR",
	 "keep the CNI plugin in those networks of this folder in which `cni install` put it: "
	 "another program may write a network anew"},
	{BIN_ID, "bin-dir", "DIR",
	 "where `cni install` put the plugin, else /opt/cni/bin; a plugin that is gone is not "
	 "kept"},
	{AUDIT_ID, "audit", NULL, "drop nothing: count and report packets that policy would drop"},
	SET_OPTION(SET_ID),
	{ONCE_ID, "once", NULL, "end when the policy that the cluster wants is active here"},
	{LISTEN_ID, "listen", "ADDRESS:PORT",
	 "serve metrics of node and follower for Prometheus there: /metrics, and /healthz"},
	{HEALTH_ID, "health", "SOCKET",
	 "serve `bulkhead probe` at this Unix socket: whether the process runs, and is ready"},
	{DENIALS_ID, "denials", NULL,
	 "report what policy denies: an Event on the pod, and a line of JSON"},
	{0},
};

/* Prints a denial for log shippers, and for `monitor --cluster`. */
static void print_denial(struct monitor *monitor, const struct bh_event *event, const char *node,
			 uint64_t count)
{
	const struct event_printer printer = {
		.to = stdout, .json = true, .monitor = monitor, .node = node, .count = count};

	event_print(&printer, event, 0);
	fflush(stdout);
}

static int run(struct call *call)
{
	const char **uplinks = calloc(3 * call->argc, sizeof(*uplinks));
	struct follow_options follow = {.records = RECORDS,
					.plugins = "/opt/cni/bin",
					.metrics = metrics_write,
					.load.uplinks = uplinks,
					.load.resolvers = uplinks + call->argc,
					.load.settings = uplinks + 2 * call->argc,
					.load.command = "follow",
					.load.quarantine = true,
					.load.rollback = true,
					.load.late = true,
					.load.keep_connections = true};
	struct diag_log log = {0};
	struct diag diag = {.to = stderr, .log = &log};
	char host[HOST_NAME_MAX + 1] = "";
	int option, status, stop;

	gethostname(host, sizeof(host) - 1);
	follow.node = host;
	while (uplinks && (option = call_option(call)) != -1) {
		if (option == 'n')
			follow.node = call->value;
		else if (option == 'u')
			uplinks[follow.load.n_uplinks++] = call->value;
		else if (option == RESOLVER_ID)
			uplinks[call->argc + follow.load.n_resolvers++] = call->value;
		else if (option == SET_ID)
			uplinks[2 * call->argc + follow.load.n_settings++] = call->value;
		else if (option == PIN_ID)
			follow.load.pin = call->value;
		else if (option == STATE_ID)
			follow.state = call->value;
		else if (option == KUBECONFIG_ID)
			follow.kubeconfig = call->value;
		else if (option == RECORDS_ID)
			follow.records = *call->value ? call->value : NULL;
		else if (option == CONF_ID)
			follow.networks = call->value;
		else if (option == BIN_ID)
			follow.plugins = call->value;
		else if (option == LISTEN_ID)
			follow.listen = call->value;
		else if (option == HEALTH_ID)
			follow.health = call->value;
		else if (option == DENIALS_ID)
			follow.denials = print_denial;
		else if (option == AUDIT_ID)
			follow.load.audit = true;
		else
			follow.once = true;
	}
	if (call->n_operands)
		call_usage_error(call, "%s: follow takes no operand", call->operands[0]);
	follow.load.name = follow.node;
	stop = signals_open();
	status = uplinks && stop >= 0 ? status_of(follow_run(&follow, &diag, stop)) : STATUS_KERNEL;
	free(uplinks);
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
