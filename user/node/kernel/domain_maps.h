/* SPDX-License-Identifier: GPL-2.0-only */
/* Domain names as the maps have them (maps/domain.h). */
#ifndef BULKHEAD_NODE_DOMAIN_MAPS_H
#define BULKHEAD_NODE_DOMAIN_MAPS_H

#include "maps/dns.h"
#include "maps/domain.h"
#include "node/kernel/handle.h"

/* Hashes a name of a policy, "api.example.com" or "*.example.com". Returns 0 or -errno, not
 * reported. */
int domains_hash(struct node_handle *handle, const char *text, __u64 *hash, struct bh_domain *name);

/* Removes the names that do not count in an entry of bh_learned: another key's, written late.
 * Returns 0 or -errno, not reported. */
int domains_own(struct node_handle *handle, const struct bh_learned_key *key,
		struct bh_learned *learned);

#endif
