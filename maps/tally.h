/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each endpoint has to answer for: its drops, and its budget of events.
 *
 * bh_tally_keys: whose each place of bh_tallies is. Pin name `tally_keys`. ARRAY, BPF_F_MMAPABLE. A
 * program takes one of BH_TALLY_WAYS places, from ifindex modulo BH_TALLIES on, when it first drops
 * or tells something of an interface; an interface that finds none counts nothing. The command
 * gives back the places of endpoints that are gone.
 * bh_tallies: the drops and budgets. Pin name `tallies`. PERCPU_ARRAY, index the place.
 * bh_dropped: drops of endpoints that are gone, by namespace. Pin name `dropped`. HASH, key
 * bh_namespace() or BH_NAMESPACE_NONE. The command alone writes it.
 *
 * An event counts against the budget of whoever caused it: of the endpoint whose interface the
 * packet came in by; else, of what comes to an endpoint from elsewhere, against the inward budget
 * of that endpoint. Each reader has a budget of its own for each. Every jiffy brings `event-rate`
 * of credit, up to a second's; a record costs a second's jiffies.
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
	__u64 ns; /* bh_namespace() of the endpoint's, or BH_NAMESPACE_NONE; 0: not known yet */
	__u32 ifindex; /* that the place is of; 0: it is free */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_tally_key) == 16, "struct bh_tally_key");

struct bh_budget {
	__u64 suppressed; /* records kept back, by all readers at this place so far */
	__u32 stamp; /* jiffies: when credit came last */
	__u32 credit;
};

/* Each pair by enum bh_direction. */
struct bh_tally {
	__u64 packets[2]; /* dropped: what it sent, what was on its way to it */
	__u64 bytes[2];
	__u64 isolated[2]; /* of the packets, and of audited ones: for want of an allowance of its
			    * own policy */
	__u32 sample[2]; /* records since the last one that event-sample kept */
	struct bh_budget budget[2][BH_READERS];
};
_Static_assert(sizeof(struct bh_tally) == 56 + 32 * BH_READERS, "struct bh_tally");

struct bh_dropped {
	__u64 packets[2], bytes[2];
};
_Static_assert(sizeof(struct bh_dropped) == 32, "struct bh_dropped");

#define BH_NAMESPACE_NONE 1 /* of what is no endpoint's */

/* A namespace's number: FNV-1a of its name, and neither 0 nor BH_NAMESPACE_NONE. */
static inline __u64 bh_namespace(const char *name)
{
	__u64 hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (__u8)*name) * 0x100000001b3;
	return hash | 2;
}

#endif
