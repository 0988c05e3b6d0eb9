/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_fragments: first fragments that were let through, for those that follow.
 * Pin name `fragments`. LRU_HASH. The programs write it; a miss drops the
 * fragment.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/fragments
 */
#ifndef BULKHEAD_MAPS_FRAGMENT_H
#define BULKHEAD_MAPS_FRAGMENT_H

#include "maps/types.h"

struct bh_fragment_key {
	struct bh_addr source, destination;
	__u32 id; /* as it stands in the header, 16 bits for IPv4 */
	__u32 ifindex; /* each hook lets through for itself */
	__u8 hook; /* enum bh_hook */
	__u8 protocol;
	__u8 pad[2];
};
_Static_assert(sizeof(struct bh_fragment_key) == 44, "struct bh_fragment_key");

/* One aligned word, for the reasons told in conntrack.h. */
struct bh_fragment {
	__u64 first; /* tick when it passed << 32 | a hash of the key << 16 | its payload, bytes */
};
_Static_assert(sizeof(struct bh_fragment) == 8, "struct bh_fragment");

#endif
