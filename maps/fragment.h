/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_fragments: first fragments that passed, so that later fragments can pass. Pin name
 * `fragments`. ARRAY of buckets, BPF_F_MMAPABLE. The programs write it; a miss drops the fragment.
 *
 * A sender of first fragments fills its own buckets only: an endpoint of this node has the
 * BH_FRAGMENT_OWN buckets of its interface's place in bh_tally_keys (tally.h), the node has
 * BH_FRAGMENT_NODE, and all others together have BH_FRAGMENT_OUTSIDE: hosts behind uplinks, and
 * endpoints that have found no place. In a full bucket a new fragment replaces the oldest. So an
 * endpoint that floods loses its own datagrams; hosts outside can push out one another's.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/fragments
 */
#ifndef BULKHEAD_MAPS_FRAGMENT_H
#define BULKHEAD_MAPS_FRAGMENT_H

#include "maps/tally.h"
#include "maps/types.h"

#define BH_FRAGMENT_WAYS 8 /* fragments in a bucket; a power of two, as all of these */
#define BH_FRAGMENT_NODE 64
#define BH_FRAGMENT_OUTSIDE 1024
#define BH_FRAGMENT_OWN 8
#define BH_FRAGMENT_BUCKETS (BH_FRAGMENT_NODE + BH_FRAGMENT_OUTSIDE + BH_TALLIES * BH_FRAGMENT_OWN)

struct bh_fragment_key {
	/* A link-local source, or 0.0.0.0, has the frame's source MAC in its first six bytes, by
	 * exclusive or. */
	struct bh_addr source, destination;
	__u32 id; /* identification of the IP header; 16 bits for IPv4 */
	__u32 ifindex; /* each hook has entries of its own */
	__u8 hook; /* enum bh_hook */
	__u8 protocol;
	__u8 pad[6];
};
_Static_assert(sizeof(struct bh_fragment_key) == 48, "struct bh_fragment_key");

/*
 * The first word is aligned, and written as connection words are (conntrack.h):
 *
 *   63     32 31  17     16     15      0
 *   tick       tag   uncounted   length
 *
 * tick: when the first fragment passed; tag: made from the key; uncounted: another hook counts
 * the packet; length: bytes of the packet up to the end of the first fragment. 0: the place is
 * free, or its key is being written.
 */
struct bh_fragment {
	__u64 first;
	struct bh_fragment_key key;
};
_Static_assert(sizeof(struct bh_fragment) == 56, "struct bh_fragment");

struct bh_fragments {
	struct bh_fragment way[BH_FRAGMENT_WAYS];
	__u32 next; /* number of fragments so far; the next one replaces next % BH_FRAGMENT_WAYS */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_fragments) == 456, "struct bh_fragments");

#define BH_FRAGMENT_UNCOUNTED (1u << 16)
#define BH_FRAGMENT_TAG 0xfffe0000u

/* The low half chooses the bucket, the high half is the tag. @seed is a random odd number. */
static inline __u64 bh_fragment_hash(__u64 seed, const struct bh_fragment_key *key)
{
	const __u64 *word = (const __u64 *)key;
	__u64 mix = 0;

	for (int i = 0; i < 6; i++) {
		mix = (mix ^ word[i]) * seed;
		mix ^= mix >> 32;
	}
	return mix * 0xc2b2ae3d27d4eb4full;
}

static inline __u32 bh_fragment_tag(__u64 hash)
{
	return hash >> 32 & BH_FRAGMENT_TAG;
}

#endif
