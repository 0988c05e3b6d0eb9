/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_fragments: first fragments that passed, so that later fragments can pass. Pin name
 * `fragments`. LRU_HASH. The programs write it; a miss drops the fragment.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/fragments
 */
#ifndef BULKHEAD_MAPS_FRAGMENT_H
#define BULKHEAD_MAPS_FRAGMENT_H

#include "maps/types.h"

struct bh_fragment_key {
	/* A link-local source, or 0.0.0.0, has the frame's source MAC in its first six bytes, by
	 * exclusive or. */
	struct bh_addr source, destination;
	__u32 id; /* identification of the IP header; 16 bits for IPv4 */
	__u32 ifindex; /* each hook has entries of its own */
	__u8 hook; /* enum bh_hook */
	__u8 protocol;
	__u8 pad[2];
};
_Static_assert(sizeof(struct bh_fragment_key) == 44, "struct bh_fragment_key");

/*
 * One aligned word, written as connection words are (conntrack.h):
 *
 *   63     32 31  17     16     15      0
 *   tick       tag   uncounted   length
 *
 * tick: when the first fragment passed; tag: made from the key; uncounted: another hook counts
 * the packet; length: bytes of the packet up to the end of the first fragment.
 */
struct bh_fragment {
	__u64 first;
};
_Static_assert(sizeof(struct bh_fragment) == 8, "struct bh_fragment");

#define BH_FRAGMENT_UNCOUNTED (1u << 16)
#define BH_FRAGMENT_TAG 0xfffe0000u

static inline __u32 bh_fragment_tag(const struct bh_fragment_key *key)
{
	__u64 mix = 0;

	for (int i = 0; i < 4; i++)
		mix = (mix ^ key->source.word[i] ^ (__u64)key->destination.word[i] << 32) *
		      0x9e3779b97f4a7c15ull;
	mix = (mix ^ mix >> 32 ^ key->id) * 0xc2b2ae3d27d4eb4full;
	return mix >> 32 & BH_FRAGMENT_TAG;
}

#endif
