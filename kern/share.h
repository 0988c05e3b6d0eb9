/* SPDX-License-Identifier: GPL-2.0-only */
/* The connections that each share holds, and the room for another one (maps/share.h). */
#ifndef BULKHEAD_KERN_SHARE_H
#define BULKHEAD_KERN_SHARE_H

#include "endpoint.h"
#include "tunables.h"
#include "maps/share.bpf.h"

static __always_inline struct bh_share_total *share_total(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_share_total, &zero);
}

static __always_inline struct bh_share *share_of(__u32 key)
{
	return bpf_map_lookup_elem(&bh_shares, &key);
}

/* Not on the stack, where share_new() has another share. */
static const struct bh_share share_none;

/* Returns the share of a holder. The command may have freed it a moment ago. */
static __always_inline struct bh_share *share_holder(__u32 key)
{
	struct bh_share *holder = share_of(key);

	if (likely(holder))
		return holder;
	bpf_map_update_elem(&bh_shares, &key, &share_none, BPF_NOEXIST);
	return share_of(key);
}

/* Adds the share of an endpoint or of the node, and of its holder. Not inline, for the stack. */
static __noinline struct bh_share *share_new(__u32 key)
{
	struct bh_iface *iface = endpoint_iface(key);
	__u32 holder = BH_SHARE_HOLDER(iface ? iface->ns : 0, key);
	struct bh_share new = {.holder = holder};

	share_holder(holder);
	bpf_map_update_elem(&bh_shares, &key, &new, BPF_NOEXIST);
	return share_of(key);
}

static __always_inline struct bh_share *share_get(__u32 key)
{
	struct bh_share *share = share_of(key);

	return likely(share) ? share : share_new(key);
}

/* Counts a connection that is refused since its endpoint has no share: bh_shares is full. Not
 * inline, for the stack. */
static __noinline int share_refuses(void)
{
	struct bh_share_total *total = share_total();

	if (total)
		__sync_fetch_and_add(&total->refused, 1);
	return 0;
}

static __always_inline __u32 share_floor(void)
{
	struct bh_share_total *total = share_total();

	return total ? READ_ONCE(total->floor) : 0;
}

/* Changes the surplus of a share, of its holder and of all. @count: BH_SHARE_ADD or BH_SHARE_SUB.
 * The garbage collector adds a holder that the command has freed a moment ago. */
static __noinline void share_surplus(const struct bh_share *share, __u64 count)
{
	struct bh_share_total *total = share_total();
	struct bh_share *holder = share_of(share->holder);

	if (total)
		__sync_fetch_and_add(&total->surplus, (__s32)count);
	if (holder)
		__sync_fetch_and_add(&holder->count, count);
}

/* Counts another connection. Returns BH_CT_SURPLUS if it is beyond the floor, else 0. */
static __always_inline __u32 share_add(struct bh_share *share)
{
	__u64 before = __sync_fetch_and_add(&share->count, BH_SHARE_ADD);

	if (likely(bh_share_used(before) < (__s32)share_floor()))
		return 0;
	share_surplus(share, BH_SHARE_ADD);
	return BH_CT_SURPLUS;
}

static __always_inline void share_sub(struct bh_share *share)
{
	__u64 before = __sync_fetch_and_add(&share->count, BH_SHARE_SUB);

	if (bh_share_used(before) > (__s32)share_floor())
		share_surplus(share, BH_SHARE_SUB);
}

static __always_inline bool share_is_below(const struct bh_share *share, __u32 floor)
{
	return bh_share_used(READ_ONCE(share->count)) < (__s32)floor;
}

/* Returns true if the surplus of all has room for another connection, and for @more. */
static __always_inline bool share_has_room(const struct bh_share_total *total, __u32 more)
{
	__u32 capacity = READ_ONCE(total->capacity);

	return READ_ONCE(total->surplus) < (__s32)((capacity ? capacity : ct_capacity) + more);
}

/* Returns the surplus of a holder. */
static __always_inline __s32 share_held(__u32 key)
{
	const struct bh_share *holder = share_of(key);

	return holder ? bh_share_used(READ_ONCE(holder->count)) : 0;
}

/*
 * Returns true if a new connection of @own may replace one of another share's surplus: its holder
 * holds more, @own is below its floor, or the loss costs nothing (@cheap). What one holder has is
 * its own, whichever endpoint opened it, if the loss costs little (@once: one question and its
 * answer). Else an endpoint that holds most of the surplus, and has no connection in the two
 * buckets, would be refused. Of holders that hold the same, as many flooded endpoints do, each
 * yields what is not in use (@unused): else each new connection would need one of its own share
 * among the sixteen slots.
 */
static __noinline bool share_yields(const struct bh_share *own, const struct bh_share *other,
				    bool cheap, bool once, bool unused)
{
	__u32 floor = share_floor();
	__s32 more;

	if (bh_share_used(READ_ONCE(other->count)) <= (__s32)floor)
		return false;
	if (cheap || share_is_below(own, floor))
		return true;
	if (own->holder != other->holder)
		more = share_held(other->holder) - share_held(own->holder);
	else if (once)
		return true;
	else
		more = bh_share_used(READ_ONCE(other->count)) -
		       bh_share_used(READ_ONCE(own->count));
	return more > 0 || (unused && !more);
}

#endif
