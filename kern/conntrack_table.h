/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of connections (maps/conntrack.h): search, insertion, replacement and removal. To
 * insert, a program makes a free slot busy by compare-and-swap of its tag, fills it, and stores the
 * connection's tag: first a proposed one (BH_CT_PROPOSED), so that a key is inserted once. To
 * remove or replace a connection, it makes the connection's slot busy in the same way, so that one
 * program only subtracts the connection from its share.
 */
#ifndef BULKHEAD_KERN_CONNTRACK_TABLE_H
#define BULKHEAD_KERN_CONNTRACK_TABLE_H

#include <stddef.h>

#include "parse.h"
#include "share.h"
#include "tunables.h"
#include "maps/conntrack.bpf.h"

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

/* Puts two addresses and ports into a key, in the key's order. Returns the end that has @source. */
static __always_inline bool table_ends(struct table_key *key, const struct bh_addr *source,
				       __be16 source_port, const struct bh_addr *to, __be16 to_port)
{
	const __be64 *a = (const __be64 *)source, *b = (const __be64 *)to;
	bool from = a[0] > b[0] ||
		    (a[0] == b[0] && (a[1] > b[1] || (a[1] == b[1] && source_port > to_port)));

	key->key.addr[0][0] = from ? b[0] : a[0];
	key->key.addr[0][1] = from ? b[1] : a[1];
	key->key.addr[1][0] = from ? a[0] : b[0];
	key->key.addr[1][1] = from ? a[1] : b[1];
	key->key.port[0] = from ? to_port : source_port;
	key->key.port[1] = from ? source_port : to_port;
	return from;
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

static __always_inline struct bh_ct_group *table_group(__u32 bucket)
{
	__u32 index = bucket / BH_CT_GROUP;

	return bpf_map_lookup_elem(&bh_ct, &index);
}

static __always_inline struct bh_ct_bucket *table_bucket(__u32 index)
{
	struct bh_ct_group *group = table_group(index);

	if (!group)
		return NULL;
	/* no addition may move above the NULL check: the verifier refuses it there */
	SETTLE(group);
	return &group->bucket[index % BH_CT_GROUP];
}

/* Returns a slot of a bucket. */
static __always_inline struct bh_ct_slot *table_slot_of(__u32 index, __u32 slot)
{
	struct bh_ct_group *group = table_group(index);

	if (!group)
		return NULL;
	SETTLE(group); /* as in table_bucket() */
	return &group->slot[index % BH_CT_GROUP][slot % BH_CT_SLOTS];
}

/* Returns the slot of the bucket that has the tag; BH_CT_SLOTS: none. */
static __always_inline __u32 table_tagged(const struct bh_ct_bucket *bucket, __u32 tag)
{
#pragma unroll
	for (int i = 0; i < BH_CT_SLOTS; i++)
		if (READ_ONCE(bucket->tag[i]) == tag)
			return i;
	return BH_CT_SLOTS;
}

/* Returns the slot of the bucket that has the key; BH_CT_SLOTS: none. */
static __always_inline __u32 table_look(__u32 index, const struct table_key *key)
{
	__u32 tag = bh_ct_slot_tag(key->hash);
	struct bh_ct_group *group = table_group(index);
	struct bh_ct_bucket *bucket;
	struct bh_ct_slot *slot;

	if (!group)
		return BH_CT_SLOTS;
	SETTLE(group); /* as in table_bucket() */
	bucket = &group->bucket[index % BH_CT_GROUP];
	slot = group->slot[index % BH_CT_GROUP];
#pragma unroll
	for (int i = 0; i < BH_CT_SLOTS; i++)
		if (READ_ONCE(bucket->tag[i]) == tag && table_same(&slot[i], key))
			return i;
	return BH_CT_SLOTS;
}

/*
 * Begins to load what is not in the CPU's caches, while the program goes on. BPF has no instruction
 * for that; the CPU does not wait for a load whose value nobody reads.
 */
static __always_inline void table_fetch(const void *at)
{
	(void)*(const volatile __u32 *)at;
}

/* Returns the place of a key in the table, counted in slots from 1; 0: the table does not have
 * it. */
BPF_GLOBAL __u32 table_at(const struct table_key *key)
{
	__u32 index, slot;

	if (!key)
		return 0;
	index = bh_ct_first(key->hash, ct_buckets);
	slot = table_look(index, key);
	if (slot == BH_CT_SLOTS) {
		index = bh_ct_second(key->hash, ct_buckets);
		slot = table_look(index, key);
	}
	return slot == BH_CT_SLOTS ? 0 : index * BH_CT_SLOTS + slot + 1;
}

/* Returns the connection at a place. @at: what table_at() returned. */
static __always_inline struct bh_ct *table_slot_inline(__u32 at)
{
	struct bh_ct_slot *slot = table_slot_of((at - 1) / BH_CT_SLOTS, at - 1);

	return slot ? &slot->ct : NULL;
}

/* Not inline, as endpoint_iface(). */
static __noinline struct bh_ct *table_slot(__u32 at)
{
	return table_slot_inline(at);
}

/* Returns the tag of the slot at a place. Not inline, as endpoint_iface(). */
static __noinline __u32 *table_tag(__u32 at)
{
	struct bh_ct_bucket *bucket = table_bucket((at - 1) / BH_CT_SLOTS);

	if (!bucket)
		return NULL;
	SETTLE(bucket); /* as in table_bucket() */
	return &bucket->tag[(at - 1) % BH_CT_SLOTS];
}

static __always_inline struct bh_ct *table_find(const struct table_key *key)
{
	return table_slot(table_at(key));
}

/* Returns the first place in the key's buckets that has the key's tag, in the form of table_at();
 * 0: there is none. The place may have another key. */
static __always_inline __u32 table_tag_at(const struct table_key *key)
{
	__u32 tag = bh_ct_slot_tag(key->hash), index = bh_ct_first(key->hash, ct_buckets);
	struct bh_ct_bucket *bucket = table_bucket(index);
	__u32 slot = bucket ? table_tagged(bucket, tag) : BH_CT_SLOTS;

	if (slot == BH_CT_SLOTS) {
		index = bh_ct_second(key->hash, ct_buckets);
		bucket = table_bucket(index);
		slot = bucket ? table_tagged(bucket, tag) : BH_CT_SLOTS;
	}
	return slot == BH_CT_SLOTS ? 0 : index * BH_CT_SLOTS + slot + 1;
}

/*
 * Finds the connection of a key as table_find() does, and sets *@at to its place, without a call:
 * on some CPUs each return from a function costs 8 ns. If the place that has the key's tag has
 * another key, table_at() searches. *@at is written and read again: the verifier does not follow
 * the value of a number on the stack that is not at a multiple of 8 bytes, and so goes through the
 * rest of the program once, not once for each slot.
 */
static __always_inline struct bh_ct *table_find_inline(const struct table_key *key, __u32 *at)
{
	struct bh_ct *ct;

	WRITE_ONCE(*at, table_tag_at(key));
	if (!READ_ONCE(*at))
		return NULL;
	ct = table_slot_inline(READ_ONCE(*at));
	if (!ct || likely(table_same((struct bh_ct_slot *)ct, key)))
		return ct;
	*at = table_at(key);
	return table_slot(*at);
}

static __always_inline void table_publish(__u32 *tag, __u32 value)
{
	if (ORDERED_STORES) {
		barrier();
		WRITE_ONCE(*tag, value);
	} else {
		__sync_lock_test_and_set(tag, value);
	}
}

/* Subtracts the connection of a slot that this program has made busy, from its share. */
static __always_inline struct bh_share *table_uncount(const struct bh_ct *ct)
{
	struct bh_share *share = share_of(BH_CT_PAYER(ct->payer));

	if (share)
		share_sub(share);
	return share;
}

/* Reads the state of a connection in order with what is read of it before and after. */
static __always_inline __u32 table_state(const struct bh_ct *ct)
{
	return ORDERED_STORES ? READ_ONCE(ct->state) : __sync_fetch_and_or((__u32 *)&ct->state, 0);
}

/* Makes a slot busy if it still has the tag. */
static __always_inline bool table_hold(__u32 *tag, __u32 was)
{
	return __sync_val_compare_and_swap(tag, was, BH_CT_BUSY) == was;
}

/*
 * Ends a connection of which this program has read the state, then the tag, and makes its slot
 * busy. Returns false if the state has changed meanwhile, or another program ends the connection.
 * Every search finds a connection until it has ended: if the slot of one that lives were busy for a
 * moment, a packet of it would be dropped, or open it a second time. Between the two swaps the slot
 * may get another connection only of the same key: this one ends at once, as if the garbage
 * collector had passed.
 */
static __always_inline bool table_end(__u32 *tag, __u32 was, struct bh_ct *ct, __u32 state)
{
	return was & BH_CT_TAKEN && !(state & BH_CT_GONE) &&
	       __sync_val_compare_and_swap(&ct->state, state, state | BH_CT_GONE) == state &&
	       table_hold(tag, was);
}

/* Frees a slot that this program has made busy. A program that changes the state of the former
 * connection finds BH_CT_GONE, and later another incarnation. */
static __always_inline void table_free(__u32 *tag, struct bh_ct *ct)
{
	__sync_fetch_and_or(&ct->state, BH_CT_GONE);
	table_uncount(ct);
	table_publish(tag, BH_CT_FREE);
}

/* Removes the entry of the key, if there is one. */
BPF_GLOBAL int table_remove(const struct table_key *key)
{
	struct bh_ct *ct;
	__u32 *tag, at;

	if (!key)
		return 0;
	at = table_at(key);
	ct = at ? table_slot(at) : NULL;
	tag = at ? table_tag(at) : NULL;
	if (ct && tag && table_hold(tag, bh_ct_slot_tag(key->hash)))
		table_free(tag, ct);
	return 0;
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

static __always_inline __u32 table_timeout_tcp(__u32 state)
{
	if (state & BH_CT_RST)
		return timeout_tcp_reset;
	if (state & BH_CT_HALF)
		return timeout_half_open;
	return (state & BH_CT_FINS) == BH_CT_FINS ? timeout_tcp_closing : timeout_tcp;
}

static __always_inline __u32 table_timeout_udp(__u32 state)
{
	return state & (BH_CT_HALF | BH_CT_ONCE) ? timeout_udp : timeout_udp_stream;
}

static __always_inline __u32 table_timeout_sctp(__u32 state)
{
	(void)state;
	return timeout_sctp;
}

static __always_inline __u32 table_timeout(__u8 protocol, __u32 state)
{
	if (state & BH_CT_DENIED)
		return timeout_denied;
	switch (protocol) {
#define PROTOCOL(name, number, functions, ...) \
	case number:                           \
		return table_timeout_##functions(state);
#include "maps/protocols.def"
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return timeout_icmp;
	}
	return timeout_other;
}

/* Returns for how many ticks a connection was silent. @now may be a little before its last packet,
 * which another CPU has seen. */
static __always_inline __s32 table_silent(const struct bh_ct *ct, __u32 now)
{
	return now - READ_ONCE(ct->seen);
}

/* Returns true if a connection has timed out. A packet stores the age before the state, so the
 * state is read first: a shorter timeout is compared with an age as new as the state. */
static __always_inline bool table_lapsed(const struct bh_ct *ct, __u8 protocol, __u32 now)
{
	__s32 timeout = table_timeout(protocol, table_state(ct));

	return table_silent(ct, now) > timeout;
}

/* The costs of losing a connection, from the least on. Cost and time of silence are one number:
 * of equal costs, the longest silence is the least. */
#define TABLE_COST(cost) ((cost) << 24)
#define TABLE_AGE (TABLE_COST(1u) - 1)
enum {
	COST_CLOSED = 1, /* or timed out */
	COST_UNANSWERED,
	COST_ONCE, /* one question and one answer; or an entry that saves an evaluation */
	COST_YOUNG, /* unanswered, for less than unanswered_stay */
	/* for a quarter of the timeout; of UDP, for unanswered_stay: its loss costs less, and two
	 * questions from a forged address make a stream */
	COST_IDLE,
	COST_KEPT, /* in use, or answered and denied by now: not to be replaced */
};

/* @protocol: read only if the cost depends on it, since it is in another cache line. */
static __always_inline __u32 table_cost_of(__u32 state, __u32 payer, __s32 silent,
					   const __u8 *protocol)
{
	__s32 timeout;

	/* The responder of an unanswered one has sent nothing that could open it the other way
	 * round, and the initiator's address may be forged. */
	if (state & BH_CT_DENIED && !(state & BH_CT_HALF))
		return silent > (__s32)timeout_denied ? COST_CLOSED : COST_KEPT;
	if (state & BH_CT_RST || (state & BH_CT_FINS) == BH_CT_FINS)
		return COST_CLOSED;
	if (state & BH_CT_HALF)
		return silent >= (__s32)unanswered_stay ? COST_UNANSWERED : COST_YOUNG;
	if (state & BH_CT_ONCE || payer & BH_CT_LEAVES)
		return COST_ONCE;
	timeout = table_timeout(*protocol, state);
	if (silent > timeout)
		return COST_CLOSED;
	if (*protocol == IPPROTO_UDP)
		return silent >= (__s32)unanswered_stay ? COST_IDLE : COST_KEPT;
	return silent > (__s32)((__u32)timeout / 4) ? COST_IDLE : COST_KEPT;
}

/* Returns TABLE_COST() of a connection with that state, and TABLE_AGE less the ticks of silence. */
static __always_inline __u32 table_cost(const struct bh_ct_slot *slot, __u32 state, __u32 now)
{
	__u32 cost;
	__s32 silent;

	silent = table_silent(&slot->ct, now);
	cost = table_cost_of(state, slot->ct.payer, silent, &slot->key.protocol);
	if (silent < 0)
		silent = 0;
	return TABLE_COST(cost) +
	       (TABLE_AGE - (silent > (__s32)TABLE_AGE ? TABLE_AGE : (__u32)silent));
}

#define TABLE_KEPT ((__u64)TABLE_COST(COST_KEPT) << 32)

/* No payer has this number: of all but the payer. */
#define TABLE_ALL BH_CT_LEAVES

/*
 * Returns the connection of a bucket that costs least to lose, of those of @payer's and of others'
 * surplus but for @except's (TABLE_ALL: but for all others'): its cost in the upper half and its
 * place, as table_at() returns it, in the lower half. From TABLE_KEPT on: none can be replaced.
 */
BPF_GLOBAL __u64 table_victim(__u32 index, __u32 payer, __u32 except)
{
	struct bh_ct_group *group = table_group(index);
	/* The verifier follows the value of a number at a multiple of 8 bytes of the stack, and
	 * would go through the loop once for each cost. */
	struct {
		__u32 pad, cost;
	} __attribute__((aligned(8))) least = {.cost = TABLE_COST(COST_KEPT)};
	__u32 now = table_now(), place = 0, cost;

	asm volatile("" : : "r"(&least)); /* clang keeps the pad */
	if (!group)
		return TABLE_KEPT;
	SETTLE(group); /* as in table_bucket() */
	for (int i = 0; i < BH_CT_SLOTS; i++) {
		const struct bh_ct_slot *slot = &group->slot[index % BH_CT_GROUP][i];
		__u32 whose;

		/* nor one that is being inserted: its tag is a proposed one */
		if (!(READ_ONCE(group->bucket[index % BH_CT_GROUP].tag[i]) & BH_CT_TAKEN))
			continue;
		whose = BH_CT_PAYER(slot->ct.payer);
		if (whose != payer &&
		    (whose == except || except == TABLE_ALL || !(slot->ct.payer & BH_CT_SURPLUS)))
			continue;
		cost = table_cost(slot, READ_ONCE(slot->ct.state), now);
		if (cost >= READ_ONCE(least.cost))
			continue;
		WRITE_ONCE(least.cost, cost);
		place = index * BH_CT_SLOTS + i + 1;
	}
	return (__u64)READ_ONCE(least.cost) << 32 | place;
}

/* Ends @payer's connection in a slot if it costs no more to lose than @cost, as table_victim()
 * returned it, and makes the slot busy. Returns false if the connection has changed meanwhile, or
 * another one has the slot. */
static __always_inline bool table_seize(__u32 *tag, struct bh_ct_slot *slot, __u32 payer,
					__u32 cost)
{
	__u32 state = table_state(&slot->ct), was = READ_ONCE(*tag);

	return BH_CT_PAYER(slot->ct.payer) == payer &&
	       table_cost(slot, state, table_now()) <= cost &&
	       table_end(tag, was, &slot->ct, state);
}

/* No payer has this number. 0 would not do: a slot's payer is 0 while another program fills it. */
#define TABLE_SEIZED BH_CT_SURPLUS

/*
 * Seizes a slot for a connection of @payer's, and counts the connection in place of the slot's
 * former one. @victim: what table_victim() returned. Returns TABLE_SEIZED, or whose connection is
 * not to be replaced.
 */
BPF_GLOBAL __u32 table_occupy(__u64 victim, __u32 payer)
{
	struct bh_share *own = share_of(payer), *other = own;
	struct bh_ct *ct = table_slot((__u32)victim);
	__u32 *tag = table_tag((__u32)victim), whose;

	if (!ct || !tag || !own)
		return payer;
	whose = BH_CT_PAYER(ct->payer);
	if (whose != payer) {
		other = share_of(whose);
		if (!other || !share_yields(own, other, victim >> 32 < TABLE_COST(COST_ONCE),
					    victim >> 32 < TABLE_COST(COST_YOUNG),
					    victim >> 32 < TABLE_COST(COST_IDLE)))
			return whose;
	}
	if (!table_seize(tag, (struct bh_ct_slot *)ct, whose, victim >> 32))
		return payer;
	if (whose == payer) {
		/* The share has as many as before, as far beyond its floor. */
		ct->payer &= BH_CT_SURPLUS;
	} else {
		share_sub(other);
		ct->payer = share_add(own);
	}
	__sync_fetch_and_add(&other->replaced, 1);
	return TABLE_SEIZED;
}

/* Makes a free slot of the bucket busy. Returns its place; 0: none is free. */
static __always_inline __u32 table_free_slot_inline(__u32 index)
{
	struct bh_ct_bucket *bucket = table_bucket(index);

	for (int i = 0; i < BH_CT_SLOTS && bucket; i++)
		if (READ_ONCE(bucket->tag[i]) == BH_CT_FREE &&
		    table_hold(&bucket->tag[i], BH_CT_FREE))
			return index * BH_CT_SLOTS + i + 1;
	return 0;
}

BPF_GLOBAL __u32 table_free_slot(__u32 index)
{
	return table_free_slot_inline(index);
}

static __always_inline __u32 table_index(const struct table_key *key, bool second)
{
	return second ? bh_ct_second(key->hash, ct_buckets) : bh_ct_first(key->hash, ct_buckets);
}

/* Returns true if the second bucket has more free slots than the first. If the first is half empty,
 * it is good enough. */
static __always_inline bool table_prefers_second(const struct table_key *key)
{
	struct bh_ct_bucket *first = table_bucket(bh_ct_first(key->hash, ct_buckets)), *second;

	if (!first || !READ_ONCE(first->tag[BH_CT_SLOTS / 2]))
		return false;
	second = table_bucket(bh_ct_second(key->hash, ct_buckets));
	return second && table_load(second) < table_load(first);
}

/* Returns a place whose slot is free, in the bucket that table_claim_free() prefers; 0: none is. It
 * is a sum since the verifier would go through both branches of each slot. */
static __always_inline __u32 table_free_at(const struct table_key *key)
{
	__u32 index = table_index(key, table_prefers_second(key)), at = 0;
	struct bh_ct_bucket *bucket = table_bucket(index);

	if (!bucket)
		return 0;
#pragma unroll
	for (int i = BH_CT_SLOTS - 1; i >= 0; i--) {
		/* all bits if the slot is free */
		__u32 free = ((__u64)READ_ONCE(bucket->tag[i]) - 1) >> 32;

		at = (at & ~free) | ((index * BH_CT_SLOTS + i + 1) & free);
	}
	return at;
}

/* Begins to load the slot that a new connection of the key will probably get: the packet is
 * evaluated meanwhile. */
BPF_GLOBAL int table_fetch_free(const struct table_key *key)
{
	struct bh_ct_slot *slot;
	__u32 at;

	if (!key)
		return 0;
	at = table_free_at(key);
	slot = at ? (struct bh_ct_slot *)table_slot(at) : NULL;
	if (!slot)
		return 0;
	table_fetch(&slot->ct);
	table_fetch(&slot->key);
	table_fetch((__u8 *)(slot + 1) - sizeof(__u32));
	return 0;
}

/* Makes a free slot for the key busy, of the two buckets, and counts the connection. So both are
 * full only if nearly all of the table is. Returns the slot's place; 0: none is free. @first: this
 * is the first attempt, which nearly always finds a slot: without a call. */
static __always_inline __u32 table_claim_free(const struct table_key *key, struct bh_share *own,
					      bool first)
{
	bool second = table_prefers_second(key);
	__u32 index = table_index(key, second);
	__u32 place = first ? table_free_slot_inline(index) : table_free_slot(index);
	struct bh_ct *ct;

	if (!place)
		place = table_free_slot(table_index(key, !second));
	ct = place ? table_slot(place) : NULL;
	if (ct)
		ct->payer = share_add(own);
	return place;
}

/* Returns true if the share may have another connection without replacing one. @more: connections
 * beyond the room for the surplus. */
static __always_inline bool table_has_room(const struct bh_share *own, __u32 more)
{
	struct bh_share_total *total = share_total();

	return total &&
	       (share_is_below(own, READ_ONCE(total->floor)) || share_has_room(total, more));
}

/* Returns true if one of the key's buckets has a free slot. */
static __always_inline bool table_has_free(const struct table_key *key)
{
	struct bh_ct_bucket *first = table_bucket(bh_ct_first(key->hash, ct_buckets));
	struct bh_ct_bucket *second = table_bucket(bh_ct_second(key->hash, ct_buckets));

	return (first && table_load(first) < BH_CT_SLOTS) ||
	       (second && table_load(second) < BH_CT_SLOTS);
}

/* Frees the slot that table_occupy() has seized for a connection of @payer's. */
BPF_GLOBAL int table_vacate(__u32 place, __u32 payer)
{
	struct bh_ct *ct = table_slot(place);
	__u32 *tag = table_tag(place);

	if (!ct || !tag)
		return 0;
	ct->payer |= payer;
	table_free(tag, ct);
	return 0;
}

static __always_inline __u32 table_random(void)
{
	return (__u64)bpf_get_prandom_u32() * ct_buckets >> 32;
}

#define TABLE_TRIES 4
#define TABLE_YOUNG ((__u64)TABLE_COST(COST_YOUNG) << 32)

/*
 * Makes a slot busy for a connection of @own's that has no room, or no free slot: that of a
 * connection which can be replaced. An eighth of the table is left for this case, so that a
 * connection which has just begun is not replaced while a free slot is at hand. Of a connection
 * that could not be seized, the garbage collector may have freed the slot. If others do not yield,
 * the last attempt is among the payer's own connections. Where the garbage collector has just
 * passed, both buckets may have free slots only: then a connection of another bucket makes room.
 * Returns the slot's place; 0: there is none.
 */
static __always_inline __u32 table_replace(const struct table_key *key, struct bh_share *own,
					   __u32 payer)
{
	__u32 except = payer, place;

	for (int tries = 0; tries < TABLE_TRIES; tries++) {
		__u64 least, other = TABLE_KEPT;
		bool elsewhere;

		if (tries == TABLE_TRIES - 1)
			except = TABLE_ALL;
		least = table_victim(bh_ct_first(key->hash, ct_buckets), payer, except);
		if (least >= TABLE_KEPT)
			other = table_victim(bh_ct_second(key->hash, ct_buckets), payer, except);
		if (other < least)
			least = other;
		if ((tries || least >= TABLE_YOUNG) && table_has_room(own, ct_capacity / 8)) {
			place = table_claim_free(key, own, false);
			if (place)
				return place;
		}
		elsewhere = least >= TABLE_KEPT;
		/* What makes room elsewhere does so for the next attempt. */
		if (elsewhere && (tries == TABLE_TRIES - 1 || !table_has_free(key)))
			return 0;
		if (elsewhere)
			least = table_victim(table_random(), payer, payer);
		if (least >= TABLE_KEPT)
			continue;
		except = table_occupy(least, payer);
		if (except == TABLE_SEIZED && !elsewhere)
			return (__u32)least;
		if (except == TABLE_SEIZED)
			table_vacate((__u32)least, payer);
	}
	return 0;
}

/*
 * Makes a slot busy for a connection, and counts the connection. @payer: as in struct bh_ct.
 * Returns the slot's place, to be filled and then given to table_commit(); 0: there is none.
 */
BPF_GLOBAL __u32 table_claim(const struct table_key *key, __u32 payer)
{
	struct bh_share *own = share_get(BH_CT_PAYER(payer));
	__u32 place = 0;
	struct bh_ct *ct;

	if (!key || !own)
		return share_refuses();
	if (table_has_room(own, 0))
		place = table_claim_free(key, own, true);
	if (!place)
		place = table_replace(key, own, BH_CT_PAYER(payer));
	if (!place) {
		__sync_fetch_and_add(&own->refused, 1);
		return 0;
	}
	ct = table_slot(place);
	if (ct) /* has BH_CT_SURPLUS, or not */
		ct->payer |= payer;
	return place;
}

/* Returns how many slots of the bucket have another tag, in either form. It is a sum since the
 * verifier would go through both branches of each slot. */
static __always_inline __u32 table_others(const struct bh_ct_bucket *bucket, __u32 tag)
{
	__u32 others = 0;

#pragma unroll
	for (int i = 0; i < BH_CT_SLOTS; i++)
		others +=
			(((READ_ONCE(bucket->tag[i]) ^ tag) & BH_CT_TAG_OF_KEY) + 0xffffffffull) >>
			32;
	return others;
}

enum {
	TABLE_WINS = 1, /* the entry takes the place of any other one of its key */
	TABLE_LATER = 2, /* the slot comes before that of the entry */
};

/*
 * Returns true if an entry that is proposed yields to the one in a slot: that has the same key, and
 * is known by now, or is proposed as well and comes first. Else frees a slot of the same key.
 * Global: the verifier checks it once, not for each slot of the bucket.
 */
BPF_GLOBAL __u32 table_yields(__u32 *tag, struct bh_ct_slot *slot, const struct table_key *key,
			      __u32 how)
{
	__u32 was;

	if (!tag || !slot || !key)
		return 0;
#pragma unroll
	for (int tries = 0; tries < 2; tries++) {
		was = READ_ONCE(*tag);
		if ((was ^ bh_ct_slot_tag(key->hash)) & BH_CT_TAG_OF_KEY || !table_same(slot, key))
			return 0;
		if (!(how & TABLE_WINS) && (was & BH_CT_TAKEN || how & TABLE_LATER))
			return 1;
		if (table_hold(tag, was)) {
			table_free(tag, &slot->ct);
			return 0;
		}
	}
	return 0;
}

/* Leaves one entry of a key that several slots have. @place: of the entry that is proposed; @wins:
 * TABLE_WINS or 0. Returns true if that entry yields. */
BPF_GLOBAL __u32 table_contend(const struct table_key *key, __u32 place, __u32 wins)
{
	__u32 yields = 0;

	if (!key)
		return 0;
	for (__u32 i = 0; i < 2 * BH_CT_SLOTS; i++) {
		__u32 index = table_index(key, i / BH_CT_SLOTS), n = i % BH_CT_SLOTS;
		__u32 at = index * BH_CT_SLOTS + n + 1;
		struct bh_ct_slot *slot = table_slot_of(index, n);
		__u32 *tag = table_tag(at);

		if (!slot || !tag || at == place)
			continue;
		yields |= table_yields(tag, slot, key, wins | (at < place ? TABLE_LATER : 0));
	}
	return yields;
}

/* Stores the proposed tag of the filled entry at a place. Returns true if another slot may have the
 * same key. */
BPF_GLOBAL __u32 table_propose(const struct table_key *key, __u32 place)
{
	struct bh_ct_bucket *first, *second;
	__u32 *tag = table_tag(place), final;

	if (!key || !tag)
		return 0;
	final = bh_ct_slot_tag(key->hash);
	__sync_lock_test_and_set(tag, BH_CT_PROPOSED(final));
	first = table_bucket(bh_ct_first(key->hash, ct_buckets));
	second = table_bucket(bh_ct_second(key->hash, ct_buckets));
	if (!first || !second)
		return 0;
	return table_others(first, final) + table_others(second, final) < 2 * BH_CT_SLOTS - 1;
}

/* Stores the final tag of the entry, or frees the entry if it @yields, unless another program has
 * done so. */
BPF_GLOBAL int table_confirm(const struct table_key *key, __u32 place, __u32 yields)
{
	__u32 *tag = table_tag(place), final;
	struct bh_ct *ct = table_slot(place);

	if (!key || !tag || !ct)
		return 0;
	final = bh_ct_slot_tag(key->hash);
	if (!yields)
		__sync_val_compare_and_swap(tag, BH_CT_PROPOSED(final), final);
	else if (table_hold(tag, BH_CT_PROPOSED(final)))
		table_free(tag, ct);
	return 0;
}

/*
 * Makes the filled entry at a place known. Two CPUs that have not found a key may both insert it:
 * the first one's entry stays. Each stores its tag as a proposed one, and looks for the other's;
 * then it makes its own tag the final one, unless the other has freed the slot meanwhile. The steps
 * are functions of their own, one after the other, for the stack.
 */
static __always_inline void table_commit(const struct table_key *key, __u32 place, __u32 wins)
{
	__u32 yields = 0;

	if (unlikely(table_propose(key, place)))
		yields = table_contend(key, place, wins);
	table_confirm(key, place, yields);
}

/* Stores the key and the state of a claimed slot's connection. table_commit() makes it known. */
static __always_inline void table_fill(__u32 place, const struct table_key *key, __u32 state)
{
	struct bh_ct_slot *slot = (struct bh_ct_slot *)table_slot(place);

	if (!slot)
		return;
	slot->key = key->key;
	WRITE_ONCE(slot->ct.state, ((slot->ct.state & ~BH_CT_STATE) + BH_CT_INCARNATION) | state);
}

#endif
