/* SPDX-License-Identifier: GPL-2.0-only */
/* --namespace, --from, --to and --port: these options select a part of a list. */
#ifndef BULKHEAD_CMD_FILTER_H
#define BULKHEAD_CMD_FILTER_H

#include "cmd/command.h"
#include "cmd/side.h"
#include "policy/flow_classes.h"

#define FILTER_PORTS 32

struct filter {
	const char *ns, *from, *to;
	struct flow ports[FILTER_PORTS]; /* only their protocol and port are set */
	size_t n_ports;
};

/* @filter: the field that is a struct filter
 * clang-format off: entries of a table, with their commas */
#define FILTER_OPTIONS(type, filter)                                                   \
	{0, "namespace", "NS", "only this namespace's pods, and their peers",          \
	 OPTION_TEXT(type, filter.ns)},                                                \
		{'f', "from", "SRC",                                                   \
		 "only from namespace/pod, an address or a pattern: shop/web-*",       \
		 OPTION_TEXT(type, filter.from)},                                      \
		{'t', "to", "DST", "only to namespace/pod, an address or a pattern",   \
		 OPTION_TEXT(type, filter.to)},                                        \
	{                                                                              \
		'P', "port", "PORT,...",                                               \
			"TCP/80, UDP/53, SCTP/9; ICMP, ICMPv6 or a protocol's number", \
			OPTION_TAKE(type, filter, filter_take_ports)                   \
	}
/* clang-format on */

/* Notes that a port without a protocol, which port_parse() took, is the number of a protocol. */
void filter_note_number(const char *port);

/* Takes --port: adds the ports of "TCP/80,UDP/53" to the struct filter @to. Ends the process if the
 * value is malformed. */
void filter_take_ports(struct call *call, void *to);

/* Returns true if @pattern matches the end's name or an address of the end. NULL matches any
 * end. */
bool filter_matches(const char *pattern, const struct flow_side *end);
/* Returns true if the end is an endpoint of the namespace. NULL matches any end. */
bool filter_in_namespace(const char *ns, const struct flow_side *end);
/* Returns true if the filter selects the port, as it does every port if it has none. */
bool filter_has_port(const struct filter *filter, uint8_t protocol, uint16_t port);

/*
 * The kinds that have a member which the filter selects: @from, @to and @either by index, kinds->n
 * each. An address that no member has selects the kind whose class has the address in @policy.
 * filter_flow_classes() returns 0; or -EINVAL, reported with a similar name, for a name that no end
 * has. Free the arrays in any case.
 */
struct filter_flow_classes {
	bool *from, *to, *either;
};
int filter_flow_classes(const struct filter *filter, const struct policy *policy, size_t index,
			const struct flow_classes *kinds, struct filter_flow_classes *meant);
void filter_flow_classes_free(struct filter_flow_classes *meant);

#endif
