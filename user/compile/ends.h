/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ends of flows: one endpoint, node, Service or address, and all that a policy
 * tells apart: each endpoint, each node, and for each prefix an address that no
 * longer prefix, endpoint or node has.
 */
#ifndef BULKHEAD_COMPILE_ENDS_H
#define BULKHEAD_COMPILE_ENDS_H

#include "compile/judge.h"
#include "compile/service.h"

/* An endpoint or an address; by family, the first address that it has of it. */
struct end {
	const char *name;
	enum family first; /* of its families */
	bool has[FAMILIES];
	struct address address[FAMILIES];
	const struct policy_service *service; /* named as "svc:namespace/name"; else NULL */
	const char *host; /* the node that a hostNetwork pod of that name is; else NULL */
};

/* Keeps the first address of a family. */
void end_add(struct end *end, const struct address *address);

/* The end that an endpoint of @policy is. */
struct end end_of_endpoint(const struct policy *policy, const struct policy_endpoint *endpoint,
			   const char *name);
struct end end_of_node(const struct policy *policy, const struct policy_node *node);

/* Addresses of the prefix (of policy->prefixes) that no longer prefix, endpoint, node or Service
 * has; none where there is no such address. */
struct end end_of_prefix(const struct policy *policy, const struct policy_prefix *prefix);

/* The end that a Service is: with the addresses that the cluster gave it, or its backends' where it
 * is headless; none where it has neither. */
struct end end_of_service(const struct policy *policy, const struct policy_service *service,
			  const char *name);

/* Fills in the addresses: the first family of @from that both have. Returns false: there is none.
 */
bool flow_between(const struct end *from, const struct end *to, struct flow *flow);

/* "10.0.0.0/8"; of ::/0 "world". Returns @text. */
const char *prefix_name(const struct policy_prefix *prefix, char text[ADDRESS_TEXT]);

/* In this order: endpoints "namespace/name", nodes "node NAME", prefixes "10.0.0.0/8", "world". */
struct ends {
	struct end *at;
	size_t n;
	size_t n_endpoints; /* the first so many: policy->endpoints, one by one */
};

/* Returns 0, or -ENOMEM. */
int ends_list(const struct policy *policy, struct ends *ends);
void ends_free(struct ends *ends);

#endif
