/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_pairs: what a subject's policy says of a peer, where that differs from the
 * subject's fallback. Pin name `pairs`. HASH. Direction is part of the subject's
 * ID. Entries are never changed once a segment that leads to them is in force.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/pairs
 */
#ifndef BULKHEAD_MAPS_PAIR_H
#define BULKHEAD_MAPS_PAIR_H

#include "maps/types.h"

struct bh_pair_key {
	__u32 subject; /* bh_segment.own[] or .common[] */
	__u32 peer; /* bh_segment.peer_own or .peer_common */
};
_Static_assert(sizeof(struct bh_pair_key) == 8, "struct bh_pair_key");

struct bh_pair {
	struct bh_ports_ref ports;
};
_Static_assert(sizeof(struct bh_pair) == 8, "struct bh_pair");

#endif
