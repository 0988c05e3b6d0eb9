/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of connections (maps/conntrack.h): search, insertion and expiry. To insert, a program
 * claims a slot by compare-and-swap of its tag, fills it, and stores the connection's tag. To
 * remove, it marks the connection as gone, which returns its share exactly once, and the slot as
 * dead. The sweeper frees a dead slot later, when no program can still read it.
 */
#ifndef BULKHEAD_KERN_TABLE_H
#define BULKHEAD_KERN_TABLE_H

#include <stddef.h>

#include "build.h"
#include "parse.h"
#include "share.h"
#include "tunables.h"
#include "maps/conntrack.bpf.h"

#define TABLE_CLOCK 1 /* CLOCK_MONOTONIC */
#define TABLE_SWEEP_NS 50000000 /* between two steps of the sweeper */
#define TABLE_SWEEP_STEPS 128 /* steps for the whole table, unless TABLE_SWEEP_MAX needs more */
#define TABLE_SWEEP_MAX 4096 /* buckets in a step, at most */
#define TABLE_GRACE 4 /* ticks that a dead slot stays: longer than any program runs */

/* A key, as a structure and as words, and its hash. */
struct table_key {
	union {
		struct bh_ct_key key;
		__u64 word[5];
	};
	__u64 hash;
};

static __always_inline __u32 table_now(void)
{
	return bpf_jiffies64() >> BH_TICK_SHIFT;
}

static __always_inline void table_hash(struct table_key *key)
{
	key->hash = bh_ct_hash(ct_seed, key->word);
}

/* Returns the packet's key: struct packet begins with it. */
static __always_inline struct table_key *table_key(struct packet *p)
{
	_Static_assert(offsetof(struct packet, hash) == offsetof(struct table_key, hash), "hash");
	return (struct table_key *)p;
}

static __always_inline bool table_same(const struct bh_ct_slot *slot, const struct table_key *key)
{
	const struct table_key *has = (void *)&slot->key;

	return !((has->word[4] ^ key->word[4]) | (has->word[3] ^ key->word[3]) |
		 (has->word[1] ^ key->word[1]) | (has->word[2] ^ key->word[2]) |
		 (has->word[0] ^ key->word[0]));
}

static __always_inline struct bh_ct_bucket *table_bucket(__u32 index)
{
	return bpf_map_lookup_elem(&bh_ct, &index);
}

/* Returns the slot of the bucket that has the key; BH_CT_SLOTS: none. */
static __always_inline __u32 table_look(struct bh_ct_bucket *bucket, const struct table_key *key)
{
	__u32 tag = bh_ct_slot_tag(key->hash);

#pragma unroll
	for (int i = 0; i < BH_CT_SLOTS; i++)
		if (READ_ONCE(bucket->tag[i]) == tag && table_same(&bucket->slot[i], key))
			return i;
	return BH_CT_SLOTS;
}

/* Returns the place of a key in the table, counted in slots from 1; 0: the table does not have
 * it. */
BPF_GLOBAL __u32 table_at(const struct table_key *key)
{
	struct bh_ct_bucket *bucket;
	__u32 index, slot;

	if (!key)
		return 0;
	index = bh_ct_first(key->hash, ct_buckets);
	bucket = table_bucket(index);
	if (!bucket)
		return 0;
	slot = table_look(bucket, key);
	if (slot == BH_CT_SLOTS) {
		index = bh_ct_second(key->hash, ct_buckets);
		bucket = table_bucket(index);
		if (!bucket)
			return 0;
		slot = table_look(bucket, key);
	}
	return slot == BH_CT_SLOTS ? 0 : index * BH_CT_SLOTS + slot + 1;
}

/* Returns the connection at a place. @at: what table_at() returned. */
static __always_inline struct bh_ct *table_slot(__u32 at)
{
	__u32 slot = (at - 1) % BH_CT_SLOTS;
	struct bh_ct_bucket *bucket = table_bucket((at - 1) / BH_CT_SLOTS);

	if (!bucket)
		return NULL;
	SETTLE(bucket); /* no addition may move above the NULL check: the verifier refuses it
			 * there */
	return &bucket->slot[slot].ct;
}

static __always_inline struct bh_ct *table_find(const struct table_key *key)
{
	return table_slot(table_at(key));
}

/* Returns the place of a connection in its share. A second call for it does nothing. */
static __always_inline void table_settle(struct bh_ct *ct)
{
	__u32 state = __sync_lock_test_and_set(&ct->state, BH_CT_GONE);

	if (!(state & BH_CT_GONE))
		share_give(ct->payer, state & BH_CT_HALF);
}

static __always_inline void table_kill(__u32 *tag, __u32 was, struct bh_ct *ct)
{
	if (__sync_val_compare_and_swap(tag, was, BH_CT_DEAD) != was)
		return;
	WRITE_ONCE(ct->seen, table_now());
	table_settle(ct);
}

/* Removes the entry of the key, if there is one. */
static __always_inline void table_remove(const struct table_key *key)
{
	__u32 at = table_at(key) - 1, slot = at % BH_CT_SLOTS;
	struct bh_ct_bucket *bucket = table_bucket(at / BH_CT_SLOTS);

	if (bucket)
		table_kill(&bucket->tag[slot], bh_ct_slot_tag(key->hash), &bucket->slot[slot].ct);
}

static __always_inline bool table_put(struct bh_ct_bucket *bucket, const struct table_key *key,
				      const struct bh_ct *ct)
{
	for (int i = 0; i < BH_CT_SLOTS; i++) {
		struct bh_ct_slot *slot = &bucket->slot[i];

		if (READ_ONCE(bucket->tag[i]) != BH_CT_FREE ||
		    __sync_val_compare_and_swap(&bucket->tag[i], BH_CT_FREE, BH_CT_BUSY) !=
			    BH_CT_FREE)
			continue;
		slot->key = key->key;
		slot->ct = *ct;
		if (ordered_stores) {
			barrier();
			WRITE_ONCE(bucket->tag[i], bh_ct_slot_tag(key->hash));
		} else {
			__sync_lock_test_and_set(&bucket->tag[i], bh_ct_slot_tag(key->hash));
		}
		return true;
	}
	return false;
}

/* Returns how many slots of the bucket are not free. */
static __always_inline __u32 table_load(const struct bh_ct_bucket *bucket)
{
	__u32 taken = 0;

#pragma unroll
	for (int i = 0; i < BH_CT_SLOTS; i++)
		taken += (READ_ONCE(bucket->tag[i]) + 0xffffffffull) >> 32;
	return taken;
}

/* Inserts into the bucket that has more free slots, or the first of the two. So both are full only
 * if nearly all of the table is. */
static __always_inline bool table_add(const struct table_key *key, const struct bh_ct *ct)
{
	struct bh_ct_bucket *first = table_bucket(bh_ct_first(key->hash, ct_buckets));
	struct bh_ct_bucket *second = table_bucket(bh_ct_second(key->hash, ct_buckets));

	if (!first || !second)
		return false;
	if (READ_ONCE(first->tag[BH_CT_SLOTS / 2]) && table_load(second) < table_load(first))
		return table_put(second, key, ct) || table_put(first, key, ct);
	return table_put(first, key, ct) || table_put(second, key, ct);
}

static __always_inline __u32 table_timeout(__u8 protocol, __u32 state)
{
	if (state & BH_CT_DENIED)
		return timeout_denied;
	switch (protocol) {
	case IPPROTO_TCP:
		if (state & BH_CT_HALF)
			return timeout_half_open;
		return state & BH_CT_RST || (state & BH_CT_FINS) == BH_CT_FINS ? timeout_tcp_closing
									       : timeout_tcp;
	case IPPROTO_UDP:
		return timeout_udp;
	case IPPROTO_SCTP:
		return timeout_sctp;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return timeout_icmp;
	}
	return timeout_other;
}

/* Whether a connection has timed out. @now may be a little before its last packet, which another
 * CPU has seen. */
static __always_inline bool table_lapsed(const struct bh_ct *ct, __u8 protocol, __u32 now)
{
	__u32 state = READ_ONCE(ct->state);

	return state & BH_CT_GONE ||
	       (__s32)(now - READ_ONCE(ct->seen)) > (__s32)table_timeout(protocol, state);
}

static __always_inline void table_sweep_slot(__u32 *tag, struct bh_ct_slot *slot, __u32 now)
{
	__u32 was = READ_ONCE(*tag);

	if (was >= BH_CT_TAKEN) {
		if (table_lapsed(&slot->ct, slot->key.protocol, now))
			table_kill(tag, was, &slot->ct);
	} else if (was == BH_CT_DEAD && (__s32)(now - READ_ONCE(slot->ct.seen)) > TABLE_GRACE) {
		table_settle(&slot->ct); /* the state that another program has stored since */
		__sync_val_compare_and_swap(tag, BH_CT_DEAD, BH_CT_FREE);
	}
}

struct table_sweep {
	__u32 bucket, now;
};

static long table_sweep_bucket(__u32 i __attribute__((unused)), struct table_sweep *sweep)
{
	struct bh_ct_bucket *bucket = table_bucket(sweep->bucket);

	if (!bucket) {
		sweep->bucket = 0;
		return 1;
	}
	for (int slot = 0; slot < BH_CT_SLOTS; slot++)
		table_sweep_slot(&bucket->tag[slot], &bucket->slot[slot], sweep->now);
	sweep->bucket++;
	return 0;
}

static int table_sweep(void *map __attribute__((unused)), int *key __attribute__((unused)),
		       struct bh_ct_sweeper *sweeper)
{
	struct table_sweep sweep = {.bucket = sweeper->bucket, .now = table_now()};
	__u32 step = ct_buckets / TABLE_SWEEP_STEPS + 1;

	bpf_loop(step < TABLE_SWEEP_MAX ? step : TABLE_SWEEP_MAX, table_sweep_bucket, &sweep, 0);
	sweeper->bucket = sweep.bucket;
	/* If two loads' programs start the timer at once, it may run the callback of one while the
	 * other is the owner. Then no owner is set, and the next packet starts the timer again. */
	if (READ_ONCE(sweeper->owner) != instance + 1ull) {
		WRITE_ONCE(sweeper->owner, 0);
		return 0;
	}
	bpf_timer_start(&sweeper->timer, TABLE_SWEEP_NS, 0);
	return 0;
}

static __noinline void table_start(struct bh_ct_sweeper *sweeper, __u64 owner)
{
	if (!sweeper ||
	    __sync_val_compare_and_swap(&sweeper->owner, owner, instance + 1ull) != owner)
		return;
	bpf_timer_init(&sweeper->timer, &bh_ct_sweeper, TABLE_CLOCK);
	bpf_timer_set_callback(&sweeper->timer, table_sweep);
	bpf_timer_start(&sweeper->timer, TABLE_SWEEP_NS, 0);
}

/* Starts the sweeper of these programs at the first packet that they judge. It replaces the
 * sweeper of the former load. */
static __always_inline void table_sweeps(void)
{
	__u32 zero = 0;
	struct bh_ct_sweeper *sweeper = bpf_map_lookup_elem(&bh_ct_sweeper, &zero);
	__u64 owner = sweeper ? READ_ONCE(sweeper->owner) : 0;

	if (unlikely(owner != instance + 1ull))
		table_start(sweeper, owner);
}

/* Inserts a connection, and removes an entry of the same key. @absent: the table is known to have
 * none. Returns 0 or BH_DROP_SHARE. */
BPF_GLOBAL int table_insert(const struct table_key *key, const struct bh_ct *ct, int absent)
{
	__u32 half;

	if (!key || !ct)
		return BH_DROP_MAPS;
	half = ct->state & BH_CT_HALF;
	if (!absent)
		table_remove(key);
	if (!share_take(ct->payer, half))
		return BH_DROP_SHARE;
	if (table_add(key, ct))
		return 0;
	share_give(ct->payer, half);
	return BH_DROP_SHARE;
}

#endif
