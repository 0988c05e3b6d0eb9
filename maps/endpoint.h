/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_endpoints: the segment of each endpoint's address. Pin name `endpoints`. HASH, key an
 * address. The loader writes it. A miss means that the address is no endpoint's, or an
 * endpoint's on another node that this node does not need (blob.h): bh_prefixes has its segment.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/endpoints
 */
#ifndef BULKHEAD_MAPS_ENDPOINT_H
#define BULKHEAD_MAPS_ENDPOINT_H

#include "maps/types.h"

struct bh_endpoint {
	/* assignment words (types.h); no word or no segment: the endpoint is isolated */
	__u64 assignment[2];
	__u32 ifindex; /* its interface on the node; 0: the endpoint is not on this node */
	__u8 mac[6]; /* all 0: unknown */
	__u8 pad[2];
};
_Static_assert(sizeof(struct bh_endpoint) == 32, "struct bh_endpoint");

#endif
