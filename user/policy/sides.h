/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ends of flows: an endpoint, node, Service or address. flow_sides_list() lists all that a
 * policy tells apart: each endpoint, each node, and for each prefix an address that no longer
 * prefix, endpoint or node has.
 */
#ifndef BULKHEAD_POLICY_SIDES_H
#define BULKHEAD_POLICY_SIDES_H

#include "policy/evaluate.h"
#include "policy/frontend.h"

/* An end, with its first address of each IP version. */
struct flow_side {
	const char *name;
	enum family first; /* the version of its first address */
	bool has[FAMILIES];
	struct address address[FAMILIES];
	const struct policy_service *service; /* named as "svc:namespace/name"; NULL: no Service */
	const char *domain; /* the domain name that was named; NULL: no name was */
	/* the node of the hostNetwork pod that was named; NULL: no such pod was */
	const char *host;
};

/* Adds an address, unless the end has one of its version. */
void side_add(struct flow_side *end, const struct address *address);

/* Returns the end of an endpoint of @policy. */
struct flow_side side_of_endpoint(const struct policy *policy,
				  const struct policy_endpoint *endpoint, const char *name);
struct flow_side side_of_node(const struct policy *policy, const struct policy_node *node);

/* Returns an end with addresses of the prefix (of policy->prefixes) that no longer prefix,
 * endpoint, node or Service has; without addresses if there is none. */
struct flow_side side_of_prefix(const struct policy *policy, const struct policy_prefix *prefix);

/* Returns a Service's end: with the addresses that the cluster gave the Service, or its
 * backends' if it is headless; without addresses if it has neither. */
struct flow_side side_of_service(const struct policy *policy, const struct policy_service *service,
				 const char *name);

/* Sets the flow's addresses to the first IP version of @from that both ends have. Returns false if
 * they have none in common. */
bool flow_between(const struct flow_side *from, const struct flow_side *to, struct flow *flow);

/* Prints "10.0.0.0/8"; "world" for ::/0. Returns @text. */
const char *prefix_name(const struct policy_prefix *prefix, char text[ADDRESS_TEXT]);

/* Lists, in this order, endpoints as "namespace/name", nodes as "node NAME", prefixes as
 * "10.0.0.0/8", and "world". */
struct flow_sides {
	struct flow_side *at;
	size_t n;
	size_t n_endpoints; /* the first ones, in the order of policy->endpoints */
};

/* Returns 0 or -ENOMEM. */
int flow_sides_list(const struct policy *policy, struct flow_sides *ends);
void flow_sides_free(struct flow_sides *ends);

#endif
