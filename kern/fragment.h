/* SPDX-License-Identifier: GPL-2.0-only */
/* Later fragments. They have no ports: each passes if the first fragment of its datagram has
 * passed, else it drops. */
#ifndef BULKHEAD_KERN_FRAGMENT_H
#define BULKHEAD_KERN_FRAGMENT_H

#include "anti_spoofing.h"
#include "scope.h"
#include "tally.h"
#include "tunables.h"
#include "maps/fragment.bpf.h"

/*
 * Fills the key of a fragment's datagram. An IPv6 datagram has no protocol in its key, since only
 * the first fragment tells it. Several senders may have one link-local source, or none: the MAC
 * tells them apart.
 */
static __always_inline void fragment_key(const struct packet *p, struct bh_fragment_key *key)
{
	packet_address(p, p->from, &key->source);
	if (scope_of_link(p, p->from)) {
		key->source.word[0] ^= *(const __u32 *)p->mac_from;
		key->source.word[1] ^= *(const __u16 *)(p->mac_from + 4);
	}
	packet_address(p, !p->from, &key->destination);
	key->id = p->fragment_id;
	key->ifindex = p->ifindex;
	key->hook = p->hook;
	key->protocol = p->version == 4 ? p->protocol : 0;
}

/* Returns the interface of the endpoint that sent the packet, or 0. By a bridge, or as a fragment
 * that the node has made again, the packet does not show it: then its source address does. */
static __always_inline __u32 fragment_sender(const struct packet *p)
{
	struct end end = {};
	struct bh_iface *iface;
	struct bh_addr addr;

	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		return p->ifindex;
	iface = endpoint_iface(p->ingress);
	if (iface && iface->flags & BH_IFACE_ENDPOINT)
		return p->ingress;
	packet_address(p, p->from, &addr);
	return endpoint_resolve(&addr, p->generation, &end) ? 0 : end.ifindex;
}

/* Returns the bucket of a datagram, among those of the one that sent it. */
static __noinline __u32 fragment_bucket(const struct packet *p, __u32 hash)
{
	__u32 sender = fragment_sender(p), place = BH_TALLIES;

	if (!sender && !p->ingress)
		return hash & (BH_FRAGMENT_NODE - 1);
	if (sender)
		place = tally_place(sender);
	if (place >= BH_TALLIES)
		return BH_FRAGMENT_NODE + (hash & (BH_FRAGMENT_OUTSIDE - 1));
	return BH_FRAGMENT_NODE + BH_FRAGMENT_OUTSIDE + place * BH_FRAGMENT_OWN +
	       (hash & (BH_FRAGMENT_OWN - 1));
}

static __always_inline bool fragment_same(const struct bh_fragment *way,
					  const struct bh_fragment_key *key, __u64 hash)
{
	const __u64 *has = (const __u64 *)&way->key, *want = (const __u64 *)key;
	__u32 first = READ_ONCE(way->first);

	return ((first ^ bh_fragment_tag(hash)) & BH_FRAGMENT_TAG) == 0 &&
	       !((has[0] ^ want[0]) | (has[1] ^ want[1]) | (has[2] ^ want[2]) | (has[3] ^ want[3]) |
		 (has[4] ^ want[4]) | (has[5] ^ want[5]));
}

/* Returns the way of the bucket that has the key; BH_FRAGMENT_WAYS: none has. */
static __noinline __u32 fragment_way(const struct bh_fragments *bucket,
				     const struct bh_fragment_key *key, __u64 hash)
{
#pragma unroll
	for (int i = 0; i < BH_FRAGMENT_WAYS; i++)
		if (fragment_same(&bucket->way[i], key, hash))
			return i;
	return BH_FRAGMENT_WAYS;
}

/* Finds the bucket of a fragment's datagram. Fills the datagram's key, and its hash. */
static __always_inline struct bh_fragments *fragment_at(const struct packet *p,
							struct bh_fragment_key *key, __u64 *hash)
{
	__u32 index;

	fragment_key(p, key);
	*hash = bh_fragment_hash(ct_seed, key);
	index = fragment_bucket(p, *hash);
	return bpf_map_lookup_elem(&bh_fragments, &index);
}

/* Notes that a first fragment has passed. */
static __noinline void fragment_remember(const struct packet *p)
{
	struct bh_fragment_key key = {};
	struct bh_fragments *bucket;
	struct bh_fragment *at;
	__u64 hash;
	__u32 way;

	bucket = fragment_at(p, &key, &hash);
	if (!bucket)
		return;
	way = fragment_way(bucket, &key, hash);
	if (way == BH_FRAGMENT_WAYS)
		way = __sync_fetch_and_add(&bucket->next, 1);
	at = &bucket->way[way & (BH_FRAGMENT_WAYS - 1)];
	/* A reader that sees the new key with an older word sees another tag. */
	WRITE_ONCE(at->first, 0);
	barrier();
	at->key = key;
	barrier();
	WRITE_ONCE(at->first, (__u64)p->now << 32 | bh_fragment_tag(hash) |
				      (p->uncounted ? BH_FRAGMENT_UNCOUNTED : 0) |
				      p->fragment_length);
}

/* Checks the source of a later fragment as that of a first one: a bridge learns the MAC of each. A
 * packet at the host egress hook has passed its sender's own hook. */
BPF_GLOBAL int fragment_check_source(const struct packet *p)
{
	struct end source = {}, other = {};
	struct bh_addr addr;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	if (p->hook == BH_HOOK_LEAVE)
		return 0;
	packet_address(p, p->from, &addr);
	reason = endpoint_resolve(&addr, p->generation, &source);
	if (reason || endpoint_counts_as_prefix(p, &source, &other))
		return reason;
	if (p->hook == BH_HOOK_TO_ENDPOINT)
		return spoofing_claim(p, &source);
	reason = spoofing_check(p, &source);
	return reason ? reason : spoofing_link(p);
}

/* Finds what was noted of the first fragment; 0: nothing. */
static __noinline __u64 fragment_find(const struct packet *p)
{
	struct bh_fragment_key key = {};
	struct bh_fragments *bucket;
	__u64 hash;
	__u32 way;

	bucket = fragment_at(p, &key, &hash);
	if (!bucket)
		return 0;
	way = fragment_way(bucket, &key, hash);
	return way < BH_FRAGMENT_WAYS ? READ_ONCE(bucket->way[way].first) : 0;
}

/* Returns true if the first fragment was noted too long ago. It may be noted a little after @now:
 * by another CPU, whose packet began later. */
static __always_inline bool fragment_is_late(__u64 first, __u32 now)
{
	return (__s32)(now - (__u32)(first >> 32)) > (__s32)timeout_fragment;
}

/* Returns an enum bh_reason. */
static __always_inline int fragment_follow(struct packet *p)
{
	int reason = fragment_check_source(p);
	__u64 first;

	if (reason)
		return reason;
	first = fragment_find(p);
	if (!first || fragment_is_late(first, p->now))
		return BH_DROP_NO_FIRST;
	if (p->fragment_at < (__u16)first)
		return BH_DROP_OVERLAP;
	p->uncounted = !!(first & BH_FRAGMENT_UNCOUNTED);
	return BH_PASS_FRAGMENT;
}

#endif
