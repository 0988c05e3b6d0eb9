/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Matches policy objects with one endpoint or one flow, by the objects themselves. Verdicts come
 * from the compiled policy; this explains them.
 */
#ifndef BULKHEAD_POLICY_MATCH_H
#define BULKHEAD_POLICY_MATCH_H

#include "policy/evaluate.h"

/* A flow's ends as objects; NULL: that end is no endpoint. */
struct match_flow {
	const struct cluster *cluster;
	const struct flow *flow;
	const struct endpoint *source, *destination;
};

/* Returns NULL if no endpoint has the address. */
const struct endpoint *match_endpoint(const struct cluster *cluster, const struct address *address);

bool match_subject(const struct cluster *cluster, const struct policy_object *object,
		   const struct endpoint *endpoint);

/* Returns true if an ipBlock or network holds the address. */
bool match_block(const struct peer *peer, const struct address *address);

/* Returns true if the rule's peers hold the flow's other end (by the flow's domain name, too), and
 * its ports the flow's port. A literal {} in the rule fails closed, as the API requires. */
bool match_peers(const struct match_flow *match, const struct policy_object *object,
		 enum direction direction, const struct rule *rule);
bool match_ports(const struct match_flow *match, const struct rule *rule);

#endif
