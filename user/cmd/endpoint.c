// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead endpoint`: adds, changes, removes and lists single endpoints without compiling the
 * cluster. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/inputs.h"
#include "cmd/json_output.h"
#include "cmd/plan.h"
#include "input/input.h"
#include "node/node.h"

/* The options that describe an endpoint. Each becomes an entry of an INI section. */
enum { NODE_ID = PIN_ID + 1, INTERFACE_ID, IP_ID, MAC_ID, LABELS_ID, PORT_ID, DRY_RUN_ID };

static const struct command_option options[] = {
	{'f', "file", "FILE", "add: read the endpoint from this input, not from options"},
	{IP_ID, "ip", "ADDRESS,...", "add, set: its addresses"},
	{INTERFACE_ID, "interface", "IFACE", "add: its interface on the host; else found by route"},
	{MAC_ID, "mac", "MAC", "add: the MAC that it sends from"},
	{LABELS_ID, "labels", "KEY=VALUE,...", "add, set: its labels"},
	{PORT_ID, "named-port", "NAME PORT",
	 "add, set: a port's name, as \"redis TCP/6379\" (repeatable)"},
	{NODE_ID, "node", "NODE", "add: the node it is on; else this node"},
	DRY_RUN_OPTION(DRY_RUN_ID),
	{'v', "verbose", NULL, "add, set, del: print the number of map writes"},
	PIN_OPTION,
	{0},
};

struct endpoint_arguments {
	const char *file;
	char *ini; /* the INI entries that the options make */
	size_t size;
	FILE *to_ini;
	bool verbose, dry_run;
	bool json, isolated; /* -j is given; the endpoint fits no segment and so is isolated */
	bool labels, ports, addresses, others; /* which options were given */
	struct node_options node;
};

static const char *ini_key(int option)
{
	switch (option) {
	case NODE_ID:
		return "node";
	case INTERFACE_ID:
		return "interface";
	case IP_ID:
		return "ip";
	case MAC_ID:
		return "mac";
	case LABELS_ID:
		return "labels";
	default:
		return "port";
	}
}

static int read_endpoint(const struct endpoint_arguments *arguments, const char *name,
			 struct cluster *cluster, struct diag *diag)
{
	char *paths[] = {(char *)arguments->file}, *ini = NULL;
	int error;

	cluster_init(cluster);
	if (arguments->file)
		return inputs_cluster(paths, 1, cluster, diag);
	if (asprintf(&ini, "[endpoint %s]\n%s", name, arguments->ini) < 0)
		return -ENOMEM;
	error = input_parse_ini(cluster, ini, strlen(ini), "the command line", diag);
	free(ini);
	return error ? error : cluster_finish(cluster, diag);
}

static void report_isolated(struct endpoint_arguments *arguments, const char *ns, const char *name)
{
	arguments->isolated = true;
	if (arguments->dry_run || arguments->json)
		return;
	printf("%s/%s is isolated: it fits none of the active segments\n", ns, name);
}

static int add(struct node_handle *handle, struct endpoint_arguments *arguments, const char *name,
	       struct diag *diag)
{
	struct endpoint *endpoint;
	struct cluster cluster;
	bool isolated = false;
	int error = read_endpoint(arguments, name, &cluster, diag);

	if (!error && cluster.n_endpoints != 1) {
		command_error("add takes one endpoint with an address; the input has %zu",
			      cluster.n_endpoints);
		error = -EINVAL;
	}
	if (!error) {
		endpoint = &cluster.endpoints[0];
		endpoint->audit |= cluster.namespaces[endpoint->ns].audit;
		error = node_endpoint_add(handle, endpoint, &isolated);
		if (!error && isolated)
			report_isolated(arguments, endpoint->ns_name, endpoint->name);
	}
	cluster_free(&cluster);
	return error;
}

/* Reads the options as an INI section. A section needs an address, so set() adds one if no
 * option gives one. */
static int set(struct node_handle *handle, struct endpoint_arguments *arguments, const char *name,
	       struct diag *diag)
{
	struct node_endpoint_set change = {0};
	const struct endpoint *endpoint;
	struct cluster cluster;
	bool isolated;
	char *ini = arguments->ini;
	int error;

	if (asprintf(&arguments->ini, "%s%s", arguments->addresses ? "" : "ip = 192.0.2.1\n", ini) <
	    0)
		return -ENOMEM;
	free(ini);
	error = read_endpoint(arguments, name, &cluster, diag);
	if (!error) {
		endpoint = &cluster.endpoints[0];
		change = (struct node_endpoint_set){
			.ns = endpoint->ns_name,
			.name = endpoint->name,
			.labels = arguments->labels ? &endpoint->labels : NULL,
			.ports = arguments->ports ? endpoint->ports : NULL,
			.n_ports = endpoint->n_ports,
			.addresses = arguments->addresses ? endpoint->addresses : NULL,
			.n_addresses = endpoint->n_addresses,
		};
		error = node_endpoint_set(handle, &change, &isolated);
	}
	if (!error && isolated)
		report_isolated(arguments, change.ns, change.name);
	cluster_free(&cluster);
	return error;
}

static int del(struct node_handle *handle, const char *name)
{
	const char *slash = name ? strchr(name, '/') : NULL;
	char ns[64];

	if (!slash || (size_t)(slash - name) >= sizeof(ns)) {
		command_error("del needs an endpoint: NAMESPACE/NAME");
		return -EINVAL;
	}
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - name), name);
	return node_endpoint_del(handle, ns, slash + 1);
}

static int print_member(void *data, const struct node_member *member)
{
	char text[ADDRESS_TEXT], iface[IF_NAMESIZE];

	(void)data;
	printf("%s/%s  %s  ", member->ns, member->name, address_print(&member->address, text));
	if (member->segment)
		printf("segment %u", member->segment);
	else
		printf("isolated");
	if (member->variation)
		printf(" variation %u", member->variation);
	if (member->ifindex)
		printf("  %s", if_indextoname(member->ifindex, iface) ? iface : "(gone)");
	printf("%s\n", member->added ? "  added" : "");
	return 0;
}

static int json_member(void *data, const struct node_member *member)
{
	struct json_object *object = json_object_new_object();
	char text[ADDRESS_TEXT];

	json_add_text(object, "namespace", member->ns);
	json_add_text(object, "name", member->name);
	json_add_text(object, "address", address_print(&member->address, text));
	json_add_number(object, "segment", member->segment);
	json_add_number(object, "variation", member->variation);
	json_add_number(object, "ifindex", member->ifindex);
	json_add_bool(object, "added", member->added);
	json_object_array_add(data, object);
	return 0;
}

static int list(struct node_handle *handle, const struct call *call)
{
	struct json_object *array;
	int error;

	if (!call->json)
		return node_endpoint_each(handle, print_member, NULL);
	array = json_object_new_array();
	error = node_endpoint_each(handle, json_member, array);
	json_print(array, call->pretty);
	return error;
}

static void note_flag(struct endpoint_arguments *arguments, int option, const char *value)
{
	arguments->labels |= option == LABELS_ID;
	arguments->ports |= option == PORT_ID;
	arguments->addresses |= option == IP_ID;
	arguments->others |= option != LABELS_ID && option != PORT_ID && option != IP_ID;
	fprintf(arguments->to_ini, "%s = %s\n", ini_key(option), value);
}

static void check_verb(const struct call *call, const struct endpoint_arguments *arguments,
		       const char *verb, const char *name)
{
	if (strcmp(verb, "add") && strcmp(verb, "set") && strcmp(verb, "del") &&
	    strcmp(verb, "list"))
		call_usage_error(call, "needs add, set, del or list");
	if (!strcmp(verb, "set") &&
	    (!name || arguments->others || arguments->file ||
	     !(arguments->labels || arguments->ports || arguments->addresses)))
		call_usage_error(
			call,
			"set needs NAMESPACE/NAME and --labels, --named-port, --ip or several");
	if (!strcmp(verb, "add") && !name == !arguments->file)
		call_usage_error(call, "add needs NAMESPACE/NAME and options, or --file");
	if (!strcmp(verb, "list") && arguments->dry_run)
		call_usage_error(call, "--dry-run needs add, set or del");
}

static void report(const struct call *call, const struct endpoint_arguments *arguments,
		   const struct node_handle *handle)
{
	struct json_object *root;

	if (!call->json) {
		if (arguments->verbose)
			printf("%llu map writes\n", (unsigned long long)node_map_writes(handle));
		return;
	}
	root = json_object_new_object();
	json_add_bool(root, "isolated", arguments->isolated);
	json_add_number(root, "map_writes", node_map_writes(handle));
	json_print(root, call->pretty);
}

static int run_verb(struct call *call, struct endpoint_arguments *arguments)
{
	const char *verb = call->n_operands ? call->operands[0] : "";
	const char *name = call->n_operands > 1 ? call->operands[1] : NULL;
	struct diag diag = command_diag();
	struct node_handle *handle = NULL;
	struct plan plan;
	int error;

	check_verb(call, arguments, verb, name);
	arguments->json = call->json;
	if (arguments->dry_run)
		plan_begin(&plan, call, &arguments->node);
	error = node_open(&arguments->node, false, &diag, &handle);
	if (!error && !handle) {
		command_error("nothing is loaded here");
		error = -EINVAL;
	}
	if (!error && !strcmp(verb, "add"))
		error = add(handle, arguments, name, &diag);
	else if (!error && !strcmp(verb, "set"))
		error = set(handle, arguments, name, &diag);
	else if (!error && !strcmp(verb, "del"))
		error = del(handle, name);
	else if (!error)
		error = list(handle, call);
	if (arguments->dry_run)
		plan_end(&plan, call, error);
	else if (!error && strcmp(verb, "list"))
		report(call, arguments, handle);
	node_close(handle);
	return status_of(error);
}

static int run(struct call *call)
{
	struct endpoint_arguments arguments = {0};
	int option, status;

	arguments.to_ini = open_memstream(&arguments.ini, &arguments.size);
	if (!arguments.to_ini)
		return status_of(-ENOMEM);
	while ((option = call_option(call)) != -1) {
		if (option == PIN_ID)
			arguments.node.pin = call->value;
		else if (option == 'f')
			arguments.file = call->value;
		else if (option == DRY_RUN_ID)
			arguments.dry_run = true;
		else if (option == 'v')
			arguments.verbose = true;
		else if (strpbrk(call->value, "\r\n"))
			call_usage_error(call, "a value must not contain a line break");
		else
			note_flag(&arguments, option, call->value);
	}
	fclose(arguments.to_ini);
	status = run_verb(call, &arguments);
	free(arguments.ini);
	return status;
}

const struct command command_endpoint = {
	.name = "endpoint",
	.operands = "add|set|del|list [NAMESPACE/NAME]",
	.help = "add, change, remove or list endpoints one by one, without compiling their cluster",
	.words = "add set del list",
	.options = options,
	.run = run,
};
