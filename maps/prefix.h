/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_prefixes: the segment of each address that is no endpoint's. Pin name `prefixes`. LPM_TRIE
 * over mapped addresses (an IPv4 /n is 96 + n). The loader writes it. ::/0 is always there
 * (`world`), so a miss means broken maps, and drops.
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
#define BH_PREFIX_SERVICE (1u << 2) /* a Service's address, at every port */
#define BH_PREFIX_PORTS (1u << 3) /* a Service's address, at the ports that bh_services has */
#define BH_PREFIX_SERVICES (BH_PREFIX_SERVICE | BH_PREFIX_PORTS)
/* Shifted by this: the values of the last two flags before the generation `turn`. */
#define BH_PREFIX_BEFORE_SHIFT 8

struct bh_prefix {
	__u64 assignment[2];
	__u32 flags; /* BH_PREFIX_* */
	__u32 turn; /* generation from which on the unshifted flags are valid */
};
_Static_assert(sizeof(struct bh_prefix) == 24, "struct bh_prefix");

/* Returns the flags that are valid at @generation. */
static inline __u32 bh_prefix_flags(__u32 flags, __u32 turn, __u32 generation)
{
	__u32 services = generation < turn ? flags >> BH_PREFIX_BEFORE_SHIFT : flags;

	return (flags & BH_PREFIX_NODE) | (services & BH_PREFIX_SERVICES);
}

#endif
