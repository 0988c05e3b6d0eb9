/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a policy that one node needs. Its hooks ask only the policies of local endpoints; all
 * others are peers. So an endpoint's address on another node may be left out where each of those
 * policies gives it the same verdicts, by the same rules, as the prefix that a lookup finds
 * instead. The same holds for prefixes. Segments without members, and the port lists of segments
 * elsewhere as subjects, are left out with them.
 */
#ifndef BULKHEAD_COMPILE_LOCALITY_H
#define BULKHEAD_COMPILE_LOCALITY_H

#include "compile/policy.h"

struct locality_node {
	const char *name; /* endpoints on the node of this name are local */
	const struct address *addresses; /* the node's own addresses; endpoints that have one
					  * stay */
	size_t n_addresses;
	/* Segments, by index, of endpoints that the policy does not know. */
	const uint32_t *here, *elsewhere;
	size_t n_here, n_elsewhere;
	bool bridged; /* a local endpoint is bridged: every endpoint stays */
};

/* For each record of these tables, by index: whether the part keeps the record. */
struct locality {
	bool *addresses, *prefixes, *segments, *pairs, *named, *domains;
};

/* Marks nothing to stay. */
void locality_init(struct locality *locality, const struct policy *policy);
void locality_free(struct locality *locality);

/*
 * Marks the part that the node needs. Takes time in proportion to local segments times classes of
 * peers at most.
 */
void locality_decide(struct locality *locality, const struct policy *policy,
		     const struct locality_node *node);

/* Returns how many endpoints with addresses keep at least one of them. */
size_t locality_endpoints(const struct locality *locality, const struct policy *policy);

#endif
