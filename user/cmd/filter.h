/* SPDX-License-Identifier: GPL-2.0-only */
/* --namespace, --from, --to and --port: what of a list is looked at. */
#ifndef BULKHEAD_CMD_FILTER_H
#define BULKHEAD_CMD_FILTER_H

#include "cmd/command.h"
#include "cmd/flow.h"
#include "compile/kinds.h"

#define FILTER_PORTS 32

struct filter {
	const char *ns, *from, *to;
	struct flow ports[FILTER_PORTS]; /* protocol and port */
	size_t n_ports;
};

enum { FILTER_NAMESPACE_ID = PIN_ID + 100 };

/* clang-format off: entries of a table, with their commas */
#define FILTER_OPTIONS                                                                           \
	{FILTER_NAMESPACE_ID, "namespace", "NS", "only this namespace's pods, and their peers"}, \
		{'f', "from", "SRC",                                                             \
		 "only from namespace/pod, an address or a pattern: shop/web-*"},                \
		{'t', "to", "DST", "only to such an end"},                                       \
	{                                                                                        \
		'P', "port", "PORT,...",                                                         \
			"TCP/80, UDP/53, SCTP/9; ICMP, ICMPv6 or a protocol's number"            \
	}
/* clang-format on */

/* Takes the option's value where it is one of these. Ends the process where the value is bad. */
bool filter_option(const struct call *call, int option, struct filter *filter);

/* Whether the name of an end or an address of it is meant by @pattern (NULL: any is). */
bool filter_matches(const char *pattern, const struct end *end);
/* Whether it is an endpoint of that namespace (NULL: any end is). */
bool filter_in_namespace(const char *ns, const struct end *end);

/*
 * Which kinds have a member that is meant. @from, @to and @either are of kinds->n each. An address
 * that is no member's is the kind's that has it in @policy. A name that is nobody's is reported,
 * with one like it; then -EINVAL is returned, else 0. To be freed in any case.
 */
struct filter_kinds {
	bool *from, *to, *either;
};
int filter_kinds(const struct filter *filter, const struct policy *policy, size_t index,
		 const struct kinds *kinds, struct filter_kinds *meant);
void filter_kinds_free(struct filter_kinds *meant);

#endif
