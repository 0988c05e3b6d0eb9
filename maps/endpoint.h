/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_endpoints: which segment each endpoint's address is in. Pin name
 * `endpoints`. HASH, key an address. The loader writes it; a miss means that
 * the address is no endpoint, or one of another node that this one does without
 * (blob.h): bh_prefixes says what it is.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/endpoints
 */
#ifndef BULKHEAD_MAPS_ENDPOINT_H
#define BULKHEAD_MAPS_ENDPOINT_H

#include "maps/types.h"

struct bh_endpoint {
	__u64 assignment[2]; /* assignment words (types.h); none, or no segment: isolated */
	__u32 ifindex; /* host side, 0: not on this node */
	__u8 mac[6]; /* all 0: not known */
	__u8 pad[2];
};
_Static_assert(sizeof(struct bh_endpoint) == 32, "struct bh_endpoint");

#endif
