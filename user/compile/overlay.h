/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes a compiled policy to the endpoints that are active now: `endpoint` may have added and
 * removed some since the compile. Segments, pairs and rules stay as they are, and so do the parts
 * that a blob holds.
 */
#ifndef BULKHEAD_COMPILE_OVERLAY_H
#define BULKHEAD_COMPILE_OVERLAY_H

#include "compile/policy.h"

/* The place of an added endpoint's address. */
struct enrolled_address {
	struct address address;
	uint32_t segment; /* index, or POLICY_NOWHERE: the endpoint is isolated */
	uint32_t variation; /* ID; 0: none */
};

/* An added endpoint. If an endpoint of the policy has its name, that endpoint gets its addresses
 * too, and its other properties. */
struct overlay_endpoint {
	const char *ns, *name;
	const char *node, *interface; /* NULL: not given */
	uint32_t flags; /* POLICY_* */
	uint8_t mac[6];
	const struct enrolled_address *addresses;
	size_t n_addresses;
	const struct cidr *allow_source;
	size_t n_allow_source;
};

/*
 * Removes the addresses that @gone marks (by index of the policy's addresses; NULL: none), and each
 * endpoint that has none left. Adds @came. No address may stand twice. The policy must not have a
 * source. policy_free() frees the new tables, or overlay_free() those of a struct copy.
 */
void overlay_endpoints(struct policy *policy, const bool *gone, const struct overlay_endpoint *came,
		       size_t n);
void overlay_free(struct policy *policy);

/* Returns the policy as it was compiled: without endpoints of the present, and without the node's
 * extension. */
const struct policy *overlay_compiled(const struct policy *policy);

#endif
