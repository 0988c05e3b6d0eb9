/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_shares: the connections that each share holds in bh_ct. Pin name `shares`. HASH. The key is
 * the ifindex of an endpoint's interface; BH_SHARE_NODE; or BH_SHARE_HOLDER() of one of these, for
 * a holder: a namespace, or an endpoint without one. bh_share_total: what all share. Pin name
 * `share_total`. ARRAY of one, BPF_F_MMAPABLE. The programs write both. A miss means that nothing
 * is held.
 *
 * A connection counts for the endpoint that opened it; one that the node opened, for the node; one
 * from outside, for the endpoint that it was opened to. That of an endpoint to itself by a Service,
 * which has the node's address, counts for the endpoint. A share is a guarantee and no limit:
 *
 *   floor    Half of the table's connections are divided by the number of endpoints and the node.
 *            Nobody else can take these places.
 *   surplus  Connections beyond the floors share the other half of the table. There a namespace is
 *            one holder, however many endpoints it has.
 *
 * A new connection that finds the surplus used up replaces the entry whose loss costs least
 * (conntrack.h), of the first of its two buckets that has one: an entry of its own share; surplus
 * of a holder that holds more, or as much if it is not in use; or surplus of its own holder, if
 * that was one question and its answer. An endpoint below its floor replaces anybody's surplus, and
 * anybody replaces surplus that is closed, or was not answered for `unanswered-stay`. If its two
 * buckets have no such entry, but a free slot, an entry of another bucket, at random, makes room. A
 * connection is refused only if its buckets have no entry of its own share that can be replaced,
 * and the three of others whose loss costs least do not yield; or if three other buckets have no
 * such entry.
 *
 * These maps have one entry for an endpoint's interface and one for a namespace, made at the first
 * connection. The command frees the entries of endpoints that are gone. An endpoint that has found
 * no place is refused all connections: without a share nobody could count them. A refused call of
 * TCP drops; datagrams pass, and policy evaluates each by itself.
 *
 * The garbage collector counts the entries of the table as it passes. At the end of a sweep it
 * corrects a count that differs by more than the changes that packets made meanwhile, computes the
 * floor, and gives a share the holder of its interface's namespace, which may be another one by
 * now.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/shares
 */
#ifndef BULKHEAD_MAPS_SHARE_H
#define BULKHEAD_MAPS_SHARE_H

#include "maps/types.h"

#define BH_SHARE_NODE 0x3fffffffu
#define BH_SHARE_IS_HOLDER 0x80000000u

/* The key of a holder. @ns: bh_namespace(); 0: no namespace, but the endpoint or node at @key. */
#define BH_SHARE_HOLDER(ns, key) (BH_SHARE_IS_HOLDER | (__u32)((ns) ? (ns) ^ (ns) >> 32 : (key)))

/*
 * Connections, and how often their number has changed:
 *
 *   63       32 31          0
 *   changes     connections (signed)
 *
 * One addition changes both. A carry or borrow of the lower half changes the upper half by one
 * more, at most.
 */
#define BH_SHARE_ADD ((1ull << 32) + 1)
#define BH_SHARE_SUB ((1ull << 32) - 1)

static inline __s32 bh_share_used(__u64 count)
{
	return (__s32)count;
}

static inline __u32 bh_share_changes(__u64 count)
{
	return count >> 32;
}

struct bh_share {
	__u64 count; /* connections; of a holder: the surplus of its endpoints */
	__u64 refused; /* connections for which there was no place */
	__u64 replaced; /* entries of this share that made place for another connection */
	__u32 holder; /* key of the holder; 0: this is one */
	/* Of the garbage collector: connections found so far; `changes` when the sweep began, and
	 * those that the sweep itself has made since. */
	__u32 found, changes;
	__u32 pad;
};
_Static_assert(sizeof(struct bh_share) == 40, "struct bh_share");

struct bh_share_total {
	__s32 surplus; /* connections beyond the floors */
	__u32 floor; /* connections guaranteed to each endpoint and to the node; 0: none yet */
	__u32 capacity; /* for `surplus`; 0: none computed yet, all of the table */
	__u32 corrected; /* counts that sweeps have corrected */
	__u32 sweeps; /* that have ended */
	__u32 pad;
	/* of shares that the command has freed; connections refused to endpoints without a share */
	__u64 refused, replaced;
};
_Static_assert(sizeof(struct bh_share_total) == 40, "struct bh_share_total");

#endif
