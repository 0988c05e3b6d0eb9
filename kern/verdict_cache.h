/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict cache: copies of the ends and verdicts of this CPU's last new flows
 * (maps/verdict_cache.h). */
#ifndef BULKHEAD_KERN_VERDICT_CACHE_H
#define BULKHEAD_KERN_VERDICT_CACHE_H

#include "packet.h"
#include "maps/verdict_cache.bpf.h"

/* Returns packet_changes(); odd: nothing is cached. */
static __always_inline __u32 verdict_cache_changes(const struct packet *p)
{
	return p->generation ? packet_changes() : 1;
}

/* Adds to `about` what the packet itself tells. */
static __always_inline __u32 verdict_cache_about(const struct packet *p, __u32 about)
{
	return about | BH_VERDICT_CACHE_HOOK(p->hook) | (p->from ? BH_VERDICT_CACHE_FROM : 0) |
	       (p->version == 4 ? 0 : BH_VERDICT_CACHE_IPV6);
}

/* Returns both IPv4 addresses in one word. */
static __always_inline __u64 verdict_cache_pair(const struct packet *p)
{
	return (__u64)packet_ipv4(p, 1) << 32 | packet_ipv4(p, 0);
}

static __always_inline void verdict_cache_key(const struct packet *p, __u32 changes, __u32 about,
					      struct bh_verdict_cache_key *key)
{
	__u64 *addr = key->addr;

	if (p->version == 4) {
		addr[0] = verdict_cache_pair(p);
		addr[1] = addr[2] = addr[3] = 0;
	} else {
		__builtin_memcpy(addr, p->key.addr, sizeof(p->key.addr));
	}
	*(__u64 *)key->mac_to = *(__u64 *)&p->l3 >> 16;
	*(__u64 *)key->mac_from = *(__u64 *)p->mac_from << 16;
	key->generation = p->generation;
	key->changes = changes;
	key->ifindex = p->ifindex;
	key->ingress = p->ingress;
	key->about = about;
	key->pad = 0;
}

/* Returns true if the key is that of the packet and of @about. To compare in place costs less than
 * to make the packet's key. */
static __always_inline bool verdict_cache_is(const struct bh_verdict_cache_key *key,
					     const struct packet *p, __u32 changes, __u32 about)
{
	__u64 differs = (*(__u64 *)key->mac_to ^ *(__u64 *)&p->l3 >> 16) |
			(*(__u64 *)key->mac_from ^ *(__u64 *)p->mac_from << 16) |
			(key->generation ^ p->generation) | (key->changes ^ changes) |
			(key->ifindex ^ p->ifindex) | (key->ingress ^ p->ingress) |
			(key->about ^ about);

	if (p->version == 4)
		return !(differs | (key->addr[0] ^ verdict_cache_pair(p)));
	return !(differs | (key->addr[0] ^ p->key.addr[0][0]) | (key->addr[1] ^ p->key.addr[0][1]) |
		 (key->addr[2] ^ p->key.addr[1][0]) | (key->addr[3] ^ p->key.addr[1][1]));
}

static __always_inline struct bh_verdict_cache *verdict_cache_slot(const struct packet *p,
								   __u32 about)
{
	__u64 rest = (__u64)p->ifindex << 32 | about;
	__u32 index;

	if (p->version == 4)
		index = bh_ct_tag(verdict_cache_pair(p), 0, rest);
	else
		index = bh_ct_tag(__builtin_bswap64(p->key.addr[0][0] + p->key.addr[1][1]),
				  __builtin_bswap64(p->key.addr[0][1] + p->key.addr[1][0]), rest);
	index >>= 32 - BH_VERDICT_CACHE_BITS;
	return bpf_map_lookup_elem(&bh_verdicts, &index);
}

/* Copies the cached answer to *@found. Returns true if there is a valid one. */
BPF_GLOBAL int verdict_cache_find(const struct packet *p, __u32 changes, __u32 about,
				  struct bh_cached *found)
{
	struct bh_verdict_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return false;
	about = verdict_cache_about(p, about);
	slot = verdict_cache_slot(p, about);
	if (!slot)
		return false;
	sequence = READ_ONCE(slot->sequence);
	barrier();
	if (sequence & 1 || !verdict_cache_is(&slot->key, p, changes, about))
		return false;
	*found = slot->found;
	barrier();
	return READ_ONCE(slot->sequence) == sequence;
}

BPF_GLOBAL int verdict_cache_keep(const struct packet *p, __u32 changes, __u32 about,
				  const struct bh_cached *found)
{
	struct bh_verdict_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return 0;
	about = verdict_cache_about(p, about);
	slot = verdict_cache_slot(p, about);
	if (!slot)
		return 0;
	sequence = READ_ONCE(slot->sequence);
	if (sequence & 1 ||
	    __sync_val_compare_and_swap(&slot->sequence, sequence, sequence + 1) != sequence)
		return 0;
	verdict_cache_key(p, changes, about, &slot->key);
	slot->found = *found;
	barrier();
	WRITE_ONCE(slot->sequence, sequence + 2);
	return 0;
}

#endif
