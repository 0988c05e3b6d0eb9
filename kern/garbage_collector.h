/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The garbage collector: a BPF timer that walks through the table of connections in small steps,
 * frees what has timed out, and counts the rest by share. At the end of a sweep it corrects the
 * counts (maps/share.h) and computes the floor for the endpoints that the node has now.
 */
#ifndef BULKHEAD_KERN_GARBAGE_COLLECTOR_H
#define BULKHEAD_KERN_GARBAGE_COLLECTOR_H

#include "build.h"
#include "conntrack_table.h"

#define GC_CLOCK 1 /* CLOCK_MONOTONIC */
#define GC_NS 50000000 /* between two steps */
#define SWEEP_STEPS 128 /* for the whole table, unless SWEEP_MAX needs more */
#define SWEEP_MAX 4096 /* buckets in a step, at most */

/* Timeouts of surplus that is not in use shrink while the surplus of all is more than 60 % full, to
 * `unanswered-stay` at 120 %. In 256ths. Within a floor no timeout shrinks. */
#define SWEEP_WHOLE 256u

struct gc {
	__u32 bucket, now;
	__u32 shrink; /* SWEEP_WHOLE or less */
};

/* The state of connections that are not in use. */
#define SWEEP_UNUSED (BH_CT_HALF | BH_CT_ONCE | BH_CT_RST)

static __always_inline __u32 gc_shrink(void)
{
	struct bh_share_total *total = share_total();
	__u32 capacity = total ? READ_ONCE(total->capacity) : 0;
	__s32 used = total ? READ_ONCE(total->surplus) : 0;
	__u32 start = capacity / 10 * 6, end = capacity / 10 * 12;

	if (!capacity || used <= (__s32)start)
		return SWEEP_WHOLE;
	if (used >= (__s32)end)
		return 0;
	return (__u64)SWEEP_WHOLE * (end - used) / (end - start);
}

static __always_inline __u32 gc_shrunk(__u32 timeout, __u32 shrink)
{
	__u32 shrunk = (__u64)timeout * shrink / SWEEP_WHOLE;

	if (shrunk > unanswered_stay)
		return shrunk;
	return timeout < unanswered_stay ? timeout : unanswered_stay;
}

/* Returns true if a connection is surplus that is not in use. */
static __always_inline bool gc_is_unused_surplus(const struct bh_ct *ct, __u32 state)
{
	const struct bh_share *share;

	if (!(ct->payer & BH_CT_SURPLUS) || state & BH_CT_DENIED)
		return false;
	if (!(state & SWEEP_UNUSED) && (state & BH_CT_FINS) != BH_CT_FINS)
		return false;
	share = share_of(BH_CT_PAYER(ct->payer));
	return share && !share_is_below(share, share_floor() + 1);
}

static __always_inline bool gc_is_over(const struct bh_ct_slot *slot, __u32 state, __u32 now,
				       __u32 shrink)
{
	__u32 timeout = table_timeout(slot->key.protocol, state);

	if (shrink < SWEEP_WHOLE && gc_is_unused_surplus(&slot->ct, state))
		timeout = gc_shrunk(timeout, shrink);
	return !READ_ONCE(slot->ct.verdict[BH_EGRESS]) ||
	       table_silent(&slot->ct, now) > (__s32)timeout;
}

/* Frees a slot whose time was over. Meanwhile the connection may have gone on, or another one of
 * the same addresses and ports may have the slot, and so the tag. */
static __always_inline void gc_free(__u32 *tag, struct bh_ct_slot *slot, __u32 now, __u32 shrink)
{
	__u32 state = table_state(&slot->ct), was = READ_ONCE(*tag);
	struct bh_share *share;

	if (!gc_is_over(slot, state, now, shrink) || !table_end(tag, was, &slot->ct, state))
		return;
	/* This change is in the sweep's own count, too. */
	share = share_of(BH_CT_PAYER(slot->ct.payer));
	if (share)
		share->changes++;
	table_free(tag, &slot->ct);
}

/* Global: the verifier checks it once, not for each slot of the bucket. */
BPF_GLOBAL int gc_slot(__u32 *tag, struct bh_ct_slot *slot, __u32 now, __u32 shrink)
{
	struct bh_share *share;

	if (!tag || !slot)
		return 0;
	if (gc_is_over(slot, READ_ONCE(slot->ct.state), now, shrink)) {
		gc_free(tag, slot, now, shrink);
		return 0;
	}
	share = share_get(BH_CT_PAYER(slot->ct.payer));
	if (share)
		share->found++;
	return 0;
}

static long gc_bucket(__u32 i __attribute__((unused)), struct gc *gc)
{
	struct bh_ct_group *group = table_group(gc->bucket);
	__u32 bucket = gc->bucket % BH_CT_GROUP;

	if (!group) {
		gc->bucket = 0;
		return 1;
	}
	SETTLE(group); /* as in table_bucket() */
	for (int slot = 0; slot < BH_CT_SLOTS; slot++)
		if (READ_ONCE(group->bucket[bucket].tag[slot]) & BH_CT_TAKEN)
			gc_slot(&group->bucket[bucket].tag[slot], &group->slot[bucket][slot],
				gc->now, gc->shrink);
	gc->bucket++;
	return 0;
}

/* ---- the end of a sweep ---- */

struct gc_sum {
	bool partial; /* nothing is corrected */
	__u32 floor;
	__s32 surplus;
	__u32 endpoints, corrected;
};

static long gc_endpoint(void *map __attribute__((unused)), const __u32 *key, struct bh_share *share,
			struct gc_sum *sum)
{
	__u64 count = READ_ONCE(share->count);
	__s32 differs = share->found - bh_share_used(count), surplus;
	__u32 moved = bh_share_changes(count) - share->changes;
	struct bh_share *holder;
	struct bh_iface *iface;

	if (*key & BH_SHARE_IS_HOLDER)
		return 0;
	/* The interface may have become that of an endpoint of another namespace. */
	iface = endpoint_iface(*key);
	if (iface)
		share->holder = BH_SHARE_HOLDER(iface->ns, *key);
	if (!sum->partial && (differs > (__s32)moved || -differs > (__s32)moved)) {
		__sync_fetch_and_add(&share->count, (__s64)differs);
		sum->corrected++;
	}
	count = READ_ONCE(share->count);
	share->changes = bh_share_changes(count);
	share->found = 0;
	surplus = bh_share_used(count) - (__s32)sum->floor;
	if (surplus <= 0)
		return 0;
	sum->surplus += surplus;
	holder = share_holder(share->holder);
	if (holder)
		holder->found += surplus;
	return 0;
}

static long gc_holder(void *map __attribute__((unused)), const __u32 *key, struct bh_share *share,
		      void *ctx __attribute__((unused)))
{
	if (!(*key & BH_SHARE_IS_HOLDER))
		return 0;
	__sync_fetch_and_add(&share->count,
			     (__s64)share->found - bh_share_used(READ_ONCE(share->count)));
	share->found = 0;
	return 0;
}

static long gc_iface(void *map __attribute__((unused)), const __u32 *key __attribute__((unused)),
		     struct bh_iface *iface, struct gc_sum *sum)
{
	sum->endpoints += !!(iface->flags & BH_IFACE_ENDPOINT);
	return 0;
}

/* Half of the table is for the floors of the endpoints and of the node, and half for the surplus.
 */
static __noinline void gc_end(struct bh_ct_sweeper *sweeper)
{
	struct bh_share_total *total = share_total();
	struct gc_sum sum = {.partial = sweeper->partial};
	void *ifaces = active_map(&at_ifaces);

	if (!total || !ifaces)
		return;
	bpf_for_each_map_elem(ifaces, gc_iface, &sum, 0);
	sum.floor = ct_capacity / 2 / (sum.endpoints + 1);
	WRITE_ONCE(total->floor, sum.floor);
	WRITE_ONCE(total->capacity, ct_capacity - sum.floor * (sum.endpoints + 1));
	bpf_for_each_map_elem(&bh_shares, gc_endpoint, &sum, 0);
	bpf_for_each_map_elem(&bh_shares, gc_holder, NULL, 0);
	__sync_fetch_and_add(&total->surplus, sum.surplus - READ_ONCE(total->surplus));
	total->corrected += sum.corrected;
	total->sweeps++;
}

/* Returns false before the first sweep of a table, which has no floor yet. */
static __always_inline bool gc_is_planned(void)
{
	struct bh_share_total *total = share_total();

	return total && READ_ONCE(total->capacity);
}

static int gc_step(void *map __attribute__((unused)), int *key __attribute__((unused)),
		   struct bh_ct_sweeper *sweeper)
{
	struct gc gc = {.bucket = sweeper->bucket, .now = table_now(), .shrink = gc_shrink()};
	__u32 step = ct_buckets / SWEEP_STEPS + 1;

	bpf_loop(step < SWEEP_MAX ? step : SWEEP_MAX, gc_bucket, &gc, 0);
	sweeper->bucket = gc.bucket;
	if (!gc.bucket || !gc_is_planned())
		gc_end(sweeper);
	if (!gc.bucket)
		sweeper->partial = 0;
	/* If two loads' programs start the timer at once, it may run the callback of one while the
	 * other is the owner. Then no owner is set, and the next packet starts the timer again. */
	if (READ_ONCE(sweeper->owner) != instance + 1ull) {
		WRITE_ONCE(sweeper->owner, 0);
		return 0;
	}
	bpf_timer_start(&sweeper->timer, GC_NS, 0);
	return 0;
}

static __noinline void gc_start(struct bh_ct_sweeper *sweeper, __u64 owner)
{
	if (!sweeper ||
	    __sync_val_compare_and_swap(&sweeper->owner, owner, instance + 1ull) != owner)
		return;
	sweeper->partial = owner && sweeper->bucket;
	bpf_timer_init(&sweeper->timer, &bh_ct_sweeper, GC_CLOCK);
	bpf_timer_set_callback(&sweeper->timer, gc_step);
	bpf_timer_start(&sweeper->timer, GC_NS, 0);
}

/* Starts the garbage collector of these programs at the first packet that they evaluate. It
 * replaces the garbage collector of the former load. */
static __always_inline void gc_begins(void)
{
	__u32 zero = 0;
	struct bh_ct_sweeper *sweeper = bpf_map_lookup_elem(&bh_ct_sweeper, &zero);
	__u64 owner = sweeper ? READ_ONCE(sweeper->owner) : 0;

	if (unlikely(owner != instance + 1ull))
		gc_start(sweeper, owner);
}

#endif
