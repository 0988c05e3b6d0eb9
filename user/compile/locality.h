/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one node needs of a policy. Its hooks ask the policies of the endpoints
 * that are here, and of all others only as peers: an address of another node's
 * endpoint may be left out where each of those policies says of it, to the rule,
 * what it says of the prefix that the address is then found by. Prefixes likewise.
 * The segments that nobody is in then, and what subjects say that are not here,
 * go with them.
 */
#ifndef BULKHEAD_COMPILE_LOCALITY_H
#define BULKHEAD_COMPILE_LOCALITY_H

#include "compile/policy.h"

struct locality_node {
	const char *name; /* endpoints with this node are here */
	const struct address *addresses; /* the node's own: endpoints' among them stay */
	size_t n_addresses;
	/* Indexes of segments that endpoints are in which the policy does not know. */
	const uint32_t *here, *elsewhere;
	size_t n_here, n_elsewhere;
	bool bridged; /* one of those that are here is: then every endpoint stays */
};

/* By the policy's records of these tables, what stays. */
struct locality {
	bool *addresses, *prefixes, *segments, *pairs, *named;
};

/* Everything left out. */
void locality_init(struct locality *locality, const struct policy *policy);
void locality_free(struct locality *locality);

/*
 * What the node needs, from everything left out. Costs as much as there are segments here times
 * classes of peers, at most.
 */
void locality_decide(struct locality *locality, const struct policy *policy,
		     const struct locality_node *node);

/* How many endpoints, of those with addresses, stay with any of theirs. */
size_t locality_endpoints(const struct locality *locality, const struct policy *policy);

#endif
