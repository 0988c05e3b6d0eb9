/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_prefixes: which segment an address is in that is no endpoint's. Pin name
 * `prefixes`. LPM_TRIE over mapped addresses (an IPv4 /n is 96 + n). The loader
 * writes it; ::/0 is always there (`world`), so a miss means broken maps and
 * drops.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/prefixes
 */
#ifndef BULKHEAD_MAPS_PREFIX_H
#define BULKHEAD_MAPS_PREFIX_H

#include "maps/types.h"

struct bh_prefix_key {
	__u32 length; /* bits, 0 to 128 */
	struct bh_addr addr;
};
_Static_assert(sizeof(struct bh_prefix_key) == 20, "struct bh_prefix_key");

#define BH_PREFIX_NODE (1u << 0) /* an address of this node */

struct bh_prefix {
	__u64 assignment[2];
	__u32 flags;
	__u32 pad;
};
_Static_assert(sizeof(struct bh_prefix) == 24, "struct bh_prefix");

#endif
