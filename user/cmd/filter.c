/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/filter.h"
#include "model/nearest.h"
#include "model/protocol.h"

void filter_note_number(const char *port)
{
	struct diag diag = command_diag();

	if (*port >= '0' && *port <= '9')
		diag_note(&diag, NULL, NULL,
			  "%s is read as the number of an IP protocol; a port is written "
			  "with " PROTOCOL_NAMES ", as TCP/%s",
			  port, port);
}

void filter_take_ports(struct call *call, void *to)
{
	struct filter *filter = to;
	char why[FLOW_TEXT];

	for (char *rest, *port = strtok_r(call->value, ",", &rest); port;
	     port = strtok_r(NULL, ",", &rest)) {
		if (filter->n_ports == FILTER_PORTS)
			call_usage_error(call, "--port has more than %d ports", FILTER_PORTS);
		if (port_parse(port, &filter->ports[filter->n_ports++], why))
			call_usage_error(call, "--port %s", why);
		filter_note_number(port);
	}
	if (!filter->n_ports)
		call_usage_error(call, "--port is empty: name a port, as TCP/80");
}

bool filter_matches(const char *pattern, const struct flow_side *end)
{
	struct address address;
	const char *suffix;
	size_t length;
	char name[FLOW_TEXT];

	if (!pattern)
		return true;
	suffix = strstr(end->name, " over IPv");
	length = suffix ? (size_t)(suffix - end->name) : strlen(end->name);
	if (length < sizeof(name)) {
		memcpy(name, end->name, length);
		name[length] = '\0';
		if (!fnmatch(pattern, name, 0))
			return true;
	}
	if (address_parse(pattern, &address))
		return false;
	for (enum family family = IPV4; family < FAMILIES; family++)
		if (end->has[family] && !memcmp(&end->address[family], &address, sizeof(address)))
			return true;
	return false;
}

bool filter_in_namespace(const char *ns, const struct flow_side *end)
{
	size_t length = ns ? strlen(ns) : 0;

	return !ns || (!strncmp(end->name, ns, length) && end->name[length] == '/');
}

/* Marks the kind of an address that no member has: the policy's prefixes tell the class of such an
 * address. */
static bool mark_by_address(const char *pattern, const struct policy *policy, size_t index,
			    const struct flow_classes *kinds, bool *marked)
{
	const struct policy_address *found;
	struct address address;
	uint32_t segment;

	if (address_parse(pattern, &address))
		return false;
	found = policy_address_find(policy, &address);
	segment = found ? found->segment : policy_prefix_find(policy, &address) - policy->segments;
	for (size_t i = 0; i < kinds->n; i++) {
		const struct flow_class_member *first = kinds->at[i].members;

		marked[i] = first->place[index].segment == segment && first->external == !found &&
			    !first->is_node && !first->end.domain;
	}
	return true;
}

bool filter_has_port(const struct filter *filter, uint8_t protocol, uint16_t port)
{
	bool has = !filter->n_ports;

	for (size_t i = 0; i < filter->n_ports && !has; i++)
		has = filter->ports[i].protocol == protocol && filter->ports[i].port == port;
	return has;
}

static int report_nobody(const char *option, const char *pattern, const struct flow_classes *kinds)
{
	struct nearest nearest = {.word = pattern};
	char like[NEAREST_TEXT];

	for (size_t i = 0; i < kinds->n_members; i++)
		nearest_try(&nearest, kinds->members[i].end.name);
	command_error("%s %s: no end has this name or address%s", option, pattern,
		      nearest_print(&nearest, like));
	return -EINVAL;
}

static bool names_service(const char *pattern, const struct policy *policy)
{
	char name[SERVICE_NAME_TEXT + 4] = "svc:";
	struct flow_side side = {.name = name};
	bool named = false;

	for (size_t i = 0; i < policy->n_services && !named; i++) {
		service_name(policy, &policy->services[i], name + 4);
		named = filter_matches(pattern, &side);
	}
	return named;
}

static int mark(const char *option, const char *pattern, const struct policy *policy, size_t index,
		const struct flow_classes *kinds, bool *marked)
{
	bool any = !pattern;

	for (size_t i = 0; i < kinds->n; i++) {
		const struct flow_class *kind = &kinds->at[i];

		for (size_t k = 0; k < kind->n && !marked[i]; k++)
			marked[i] = filter_matches(pattern, &kind->members[k].end);
		any |= marked[i];
	}
	if (any || names_service(pattern, policy) ||
	    mark_by_address(pattern, policy, index, kinds, marked))
		return 0;
	return report_nobody(option, pattern, kinds);
}

static int mark_namespace(const char *ns, const struct policy *policy,
			  const struct flow_classes *kinds, bool *marked)
{
	struct nearest nearest = {.word = ns};
	char like[NEAREST_TEXT];
	bool any = !ns;

	for (size_t i = 0; i < kinds->n; i++) {
		const struct flow_class *kind = &kinds->at[i];

		for (size_t k = 0; k < kind->n && !marked[i]; k++)
			marked[i] = filter_in_namespace(ns, &kind->members[k].end);
		any |= marked[i];
	}
	if (any || policy_namespace_by_name(policy, ns))
		return 0;
	for (size_t i = 0; i < policy->n_namespaces; i++)
		nearest_try(&nearest, policy_string(policy, policy->namespaces[i].name));
	command_error("--namespace %s: there is no such namespace%s", ns,
		      nearest_print(&nearest, like));
	return -EINVAL;
}

int filter_flow_classes(const struct filter *filter, const struct policy *policy, size_t index,
			const struct flow_classes *kinds, struct filter_flow_classes *meant)
{
	int error;

	meant->from = calloc(kinds->n + 1, 3 * sizeof(bool));
	if (!meant->from)
		return -ENOMEM;
	meant->to = meant->from + kinds->n;
	meant->either = meant->to + kinds->n;
	error = mark("--from", filter->from, policy, index, kinds, meant->from);
	if (!error)
		error = mark("--to", filter->to, policy, index, kinds, meant->to);
	if (!error)
		error = mark_namespace(filter->ns, policy, kinds, meant->either);
	return error;
}

void filter_flow_classes_free(struct filter_flow_classes *meant)
{
	free(meant->from); /* one allocation holds all three */
	*meant = (struct filter_flow_classes){0};
}
