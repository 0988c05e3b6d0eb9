/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_pairs: the port list of a subject's policy for a peer, if the list differs from the
 * subject's fallback. Pin name `pairs`. HASH. The subject's ID includes the direction. An entry
 * never changes once a segment that leads to it is active. The loader alone writes it, and makes a
 * larger map if a policy needs one.
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
