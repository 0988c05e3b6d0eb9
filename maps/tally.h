/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops and event budgets of each endpoint.
 *
 * bh_tally_keys: the interface of each place in bh_tallies. Pin name `tally_keys`. ARRAY,
 * BPF_F_MMAPABLE. A program takes one of BH_TALLY_WAYS places, from ifindex modulo BH_TALLIES
 * on, at the first drop, event or first fragment of an interface. An interface that finds no place
 * counts nothing, and shares its fragments' places with hosts outside. Nobody but the node makes
 * interfaces, so no endpoint can take another's place. The command frees the places of endpoints
 * that are gone. bh_tallies: the drops and budgets. Pin name `tallies`. PERCPU_ARRAY, index the
 * place. bh_dropped: drops of endpoints that are gone, by namespace. Pin name `dropped`. HASH, key
 * bh_namespace(), BH_NAMESPACE_NONE or BH_NAMESPACE_OTHERS. Only the command writes it. When it is
 * full, namespaces without an entry count in that of BH_NAMESPACE_OTHERS.
 *
 * An event counts against the budget of the endpoint that caused it: the one whose interface the
 * packet came in by. An event of a packet from elsewhere counts against the inward budget of the
 * endpoint that the packet goes to. Each reader has a budget of its own for each. Each jiffy
 * adds `event-rate` of credit, up to that of one second; a record costs as many credits as a
 * second has jiffies. While a reader's ring is more than half full, an endpoint with less than
 * half of its credit writes no record there. So an endpoint that causes more events loses its own.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/tally_keys
 */
#ifndef BULKHEAD_MAPS_TALLY_H
#define BULKHEAD_MAPS_TALLY_H

#include "maps/reader.h"
#include "maps/types.h"

#define BH_TALLIES 1024
#define BH_TALLY_WAYS 4

struct bh_tally_key {
	/* bh_namespace() of the endpoint's namespace, or BH_NAMESPACE_NONE; 0: unknown yet */
	__u64 ns;
	__u32 ifindex; /* interface that has the place; 0: the place is free */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_tally_key) == 16, "struct bh_tally_key");

struct bh_budget {
	/* records not written for want of budget, for all readers at this place so far */
	__u64 suppressed;
	__u32 stamp; /* jiffies when credit was last added */
	__u32 credit;
};

/* Arrays of two are by enum bh_direction. */
struct bh_tally {
	__u64 packets[2]; /* dropped packets: from the endpoint, to the endpoint */
	__u64 bytes[2];
	/* of these and of audited packets: those that no rule of the endpoint's policy allowed */
	__u64 isolated[2];
	__u32 sample[2]; /* records since the last one that event-sample let pass */
	struct bh_budget budget[2][BH_READERS];
};
_Static_assert(sizeof(struct bh_tally) == 56 + 32 * BH_READERS, "struct bh_tally");

struct bh_dropped {
	__u64 packets[2], bytes[2];
};
_Static_assert(sizeof(struct bh_dropped) == 32, "struct bh_dropped");

#define BH_NAMESPACE_OTHERS 0 /* of bh_dropped: all namespaces without an entry */
#define BH_NAMESPACE_NONE 1 /* the interface is no endpoint's */

/* Returns a namespace's number: FNV-1a of its name, but neither 0 nor BH_NAMESPACE_NONE. */
static inline __u64 bh_namespace(const char *name)
{
	__u64 hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (__u8)*name) * 0x100000001b3;
	return hash | 2;
}

#endif
