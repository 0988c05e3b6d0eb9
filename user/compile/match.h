/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy object says of one endpoint or one flow, asked of the objects
 * themselves. Verdicts come from the compiled policy; this is for telling why.
 */
#ifndef BULKHEAD_COMPILE_MATCH_H
#define BULKHEAD_COMPILE_MATCH_H

#include "compile/judge.h"

/* A flow as the objects see it; NULL: that end is no endpoint. */
struct match_flow {
	const struct cluster *cluster;
	const struct flow *flow;
	const struct endpoint *source, *destination;
};

/* NULL: no endpoint has that address. */
const struct endpoint *match_endpoint(const struct cluster *cluster, const struct address *address);

bool match_subject(const struct cluster *cluster, const struct policy_object *object,
		   const struct endpoint *endpoint);

/* Whether an ipBlock or network holds an address. */
bool match_block(const struct peer *peer, const struct address *address);

/* Whether the flow's other end is among the rule's peers, and its port among the rule's ports. What
 * is literally {} in the rule counts for both as the API says: closed. */
bool match_peers(const struct match_flow *match, const struct policy_object *object,
		 enum direction direction, const struct rule *rule);
bool match_ports(const struct match_flow *match, const struct rule *rule);

#endif
