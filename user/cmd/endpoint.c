// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead endpoint`: adds, changes, removes and lists single endpoints without compiling the
 * cluster. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/inputs.h"
#include "cmd/dry_run_print.h"
#include "input/input.h"
#include "model/memory.h"
#include "node/node.h"

struct endpoint_arguments {
	const char *file;
	struct input_entry *entries; /* the INI entries that the options make */
	size_t n_entries;
	bool verbose, dry_run;
	bool json, isolated; /* -j is given; the endpoint fits no segment and so is isolated */
	bool labels, ports, addresses, others; /* which options were given */
	struct node_options node;
};

static void add_entry(struct endpoint_arguments *arguments, const char *key, const char *text)
{
	arguments->entries = reallocarray(arguments->entries, arguments->n_entries + 1,
					  sizeof(*arguments->entries));
	if (!arguments->entries)
		memory_exhausted();
	arguments->entries[arguments->n_entries++] = (struct input_entry){key, text};
}

static const char *ini_key(const struct command_option *option)
{
	return strcmp(option->name, "named-port") ? option->name : "port";
}

/* Takes an option that describes the endpoint. It becomes an entry of an INI section. */
static void take_entry(struct call *call, void *to)
{
	struct endpoint_arguments *arguments = to;
	const char *key = ini_key(call->option);

	if (strpbrk(call->value, "\r\n"))
		call_usage_error(call, "a value must not contain a line break");
	if (!strcmp(key, "port"))
		arguments->ports = true;
	else if (!strcmp(key, "labels"))
		arguments->labels = true;
	else if (!strcmp(key, "ip"))
		arguments->addresses = true;
	else
		arguments->others = true;
	add_entry(arguments, key, call->value);
}

static const struct command_option options[] = {
	{'f', "file", "FILE", "add: read the endpoint from this input, not from options",
	 OPTION_TEXT(struct endpoint_arguments, file)},
	{0, "ip", "ADDRESS,...", "add, set: its addresses", .take = take_entry},
	{0, "interface", "IFACE", "add: its interface on the host; else found by route",
	 .take = take_entry},
	{0, "mac", "MAC", "add: the MAC that it sends from", .take = take_entry},
	{0, "labels", "KEY=VALUE,...", "add, set: its labels", .take = take_entry},
	{0, "named-port", "NAME PORT",
	 "add, set: a port's name, as \"redis TCP/6379\" (repeatable)", .take = take_entry},
	{0, "node", "NODE", "add: the node it is on; else this node", .take = take_entry},
	DRY_RUN_OPTION(struct endpoint_arguments, dry_run),
	{'v', "verbose", NULL, "add, set, del: print the number of map writes",
	 OPTION_FLAG(struct endpoint_arguments, verbose)},
	PIN_OPTION(struct endpoint_arguments, node.pin),
	{0},
};

/* Prints a message about the entries that the options make. It names the option, or an operand; the
 * entry's line would mean nothing to the user. */
static void print_about_option(FILE *to, const struct diag_message *message)
{
	struct diag_message about = *message;
	char field[100] = "NAMESPACE/NAME";

	about.where = NULL;
	about.field = field;
	for (const struct command_option *option = options; message->field && option->name;
	     option++) {
		const char *key = ini_key(option);

		if (option->take != take_entry || strncmp(message->field, key, strlen(key)))
			continue;
		snprintf(field, sizeof(field), "--%s%s", key == option->name ? "" : "named-",
			 message->field);
	}
	command_diag().print(to, &about);
}

/* Reads the endpoint of that name from the entries that the options make. */
static int read_options(const struct endpoint_arguments *arguments, const char *name,
			struct cluster *cluster, struct diag *diag)
{
	const struct diag before = *diag;
	char *header = NULL;
	int error;

	if (asprintf(&header, "endpoint %s", name) < 0)
		return -ENOMEM;
	diag->print = print_about_option;
	error = input_read_section(cluster, header, arguments->entries, arguments->n_entries,
				   "the command line", diag);
	if (!error)
		error = cluster_finish(cluster, diag);
	diag->print = before.print;
	free(header);
	return error;
}

static int read_endpoint(const struct endpoint_arguments *arguments, const char *name,
			 struct cluster *cluster, struct diag *diag)
{
	char *paths[] = {(char *)arguments->file};

	cluster_init(cluster);
	return arguments->file ? inputs_cluster(paths, 1, cluster, diag)
			       : read_options(arguments, name, cluster, diag);
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
	} else if (!error && cluster.n_policies) {
		command_error("add takes an endpoint alone; the input has policies: load them");
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
	int error;

	if (!arguments->addresses)
		add_entry(arguments, "ip", "192.0.2.1");
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

/* Warns of the endpoint's interfaces that stay: nothing guards them any more. */
static void warn_of_open(const struct node_place *places, size_t n, const char *name,
			 struct diag *diag)
{
	char interface[IF_NAMESIZE];

	for (size_t i = 0; i < n; i++)
		if (places[i].ifindex && !(i && places[i].ifindex == places[i - 1].ifindex) &&
		    if_indextoname(places[i].ifindex, interface))
			diag_warn(diag, NULL, NULL,
				  "endpoint %s is off, and its interface %s is guarded no more",
				  name, interface);
}

static int del(struct node_handle *handle, const struct endpoint_arguments *arguments,
	       const char *name, struct diag *diag)
{
	const char *slash = name ? strchr(name, '/') : NULL;
	struct node_place *places = NULL;
	size_t n = 0;
	char ns[64];
	int error = 0;

	if (!slash || (size_t)(slash - name) >= sizeof(ns)) {
		command_error("del needs an endpoint: NAMESPACE/NAME");
		return -EINVAL;
	}
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - name), name);
	if (node_is_loaded(handle))
		error = node_name_places(handle, ns, slash + 1, &places, &n);
	if (!error)
		error = node_endpoint_del(handle, ns, slash + 1);
	if (!error && !arguments->dry_run)
		warn_of_open(places, n, name, diag);
	free(places);
	return error;
}

static int report_member(void *data, const struct node_member *member)
{
	char address[ADDRESS_TEXT], segment[32] = "isolated", variation[32] = "",
				    iface[IF_NAMESIZE];
	const char *name = member->ifindex ? if_indextoname(member->ifindex, iface) : "";
	struct emit *emit = data;

	address_print(&member->address, address);
	if (member->segment)
		snprintf(segment, sizeof(segment), "segment %u", member->segment);
	if (member->variation)
		snprintf(variation, sizeof(variation), " variation %u", member->variation);
	emit_say(emit, "%s/%s  %s  %s%s%s%s%s\n", member->ns, member->name, address, segment,
		 variation, member->ifindex ? "  " : "", name ? name : "(gone)",
		 member->added ? "  added" : "");
	emit_object(emit, NULL);
	emit_text(emit, "namespace", member->ns);
	emit_text(emit, "name", member->name);
	emit_text(emit, "address", address);
	emit_number(emit, "segment", member->segment);
	emit_number(emit, "variation", member->variation);
	emit_number(emit, "ifindex", member->ifindex);
	emit_bool(emit, "added", member->added);
	emit_end(emit);
	return 0;
}

static int list(struct node_handle *handle, const struct call *call)
{
	struct emit emit = emit_begin(call);
	int error;

	emit_array(&emit, NULL);
	error = node_endpoint_each(handle, report_member, &emit);
	emit_end(&emit);
	return error;
}

/* An option or operand that has no effect would be a mistake: `del --labels` is meant as `set`. */
static void check_idle(const struct call *call, const struct endpoint_arguments *arguments,
		       const char *verb, const char *name)
{
	const bool describes = arguments->labels || arguments->ports || arguments->addresses ||
			       arguments->others || arguments->file;

	if (call->n_operands > 2)
		call_usage_error(call, "%s: one endpoint at a time", call->operands[2]);
	if (!strcmp(verb, "list") && (name || describes || arguments->dry_run))
		call_usage_error(call, "list takes no endpoint, and no option of add, set or del");
	if (!strcmp(verb, "del") && describes)
		call_usage_error(call, "del removes the endpoint, and takes no option that "
				       "describes it; `endpoint set` changes one");
}

static void check_verb(const struct call *call, const struct endpoint_arguments *arguments,
		       const char *verb, const char *name)
{
	if (strcmp(verb, "add") && strcmp(verb, "set") && strcmp(verb, "del") &&
	    strcmp(verb, "list"))
		call_usage_error(call, "needs add, set, del or list");
	check_idle(call, arguments, verb, name);
	if (!strcmp(verb, "set") &&
	    (!name || arguments->others || arguments->file ||
	     !(arguments->labels || arguments->ports || arguments->addresses)))
		call_usage_error(
			call,
			"set needs NAMESPACE/NAME and --labels, --named-port, --ip or several");
	if (!strcmp(verb, "add") && !name == !arguments->file)
		call_usage_error(call, "add needs NAMESPACE/NAME and options, or --file");
	if (!strcmp(verb, "add") && name && !arguments->addresses)
		call_usage_error(call, "add needs --ip");
}

static void report(const struct call *call, const struct endpoint_arguments *arguments,
		   const struct node_handle *handle)
{
	struct emit emit = emit_begin(call);

	if (arguments->verbose)
		emit_say(&emit, "%" PRIu64 " map writes\n", (uint64_t)node_map_writes(handle));
	emit_object(&emit, NULL);
	emit_bool(&emit, "isolated", arguments->isolated);
	emit_number(&emit, "map_writes", node_map_writes(handle));
	emit_end(&emit);
}

static int run_verb(struct call *call, struct endpoint_arguments *arguments)
{
	const char *verb = call->n_operands ? call->operands[0] : "";
	const char *name = call->n_operands > 1 ? call->operands[1] : NULL;
	struct diag diag = command_diag();
	struct node_handle *handle = NULL;
	struct dry_run_print print;
	int error;

	check_verb(call, arguments, verb, name);
	arguments->json = call->json;
	if (arguments->dry_run)
		dry_run_print_begin(&print, call, &arguments->node);
	error = node_open(&arguments->node, false, &diag, &handle);
	if (!error && !handle) {
		command_inactive(arguments->node.pin, "load a policy first");
		error = -EINVAL;
	}
	if (!error && !strcmp(verb, "add"))
		error = add(handle, arguments, name, &diag);
	else if (!error && !strcmp(verb, "set"))
		error = set(handle, arguments, name, &diag);
	else if (!error && !strcmp(verb, "del"))
		error = del(handle, arguments, name, &diag);
	else if (!error)
		error = list(handle, call);
	if (arguments->dry_run)
		dry_run_print_end(&print, error);
	else if (!error && strcmp(verb, "list"))
		report(call, arguments, handle);
	node_close(handle);
	return status_of(error);
}

static int run(struct call *call)
{
	struct endpoint_arguments arguments = {0};
	int status;

	call_options(call, &arguments);
	status = run_verb(call, &arguments);
	free(arguments.entries);
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
