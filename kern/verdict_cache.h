/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict cache: copies of the ends and verdicts of this CPU's last new flows
 * (maps/verdict_cache.h). */
#ifndef BULKHEAD_KERN_VERDICT_CACHE_H
#define BULKHEAD_KERN_VERDICT_CACHE_H

#include "packet.h"
#include "maps/verdict_cache.bpf.h"
#include "maps/config.bpf.h"

/* Returns the number of changes of the maps. Read it before any map; odd: a change is under way,
 * and nothing is cached. */
static __always_inline __u32 verdict_cache_changes(const struct packet *p)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config && p->generation ? READ_ONCE(config->changes) : 1;
}

static __always_inline void verdict_cache_key(const struct packet *p, __u32 changes, __u32 about,
					      struct bh_verdict_cache_key *key)
{
	__u64 *addr = key->addr;

	if (p->version == 4) {
		addr[0] = (__u64)packet_ipv4(p, 1) << 32 | packet_ipv4(p, 0);
		addr[1] = addr[2] = addr[3] = 0;
	} else {
		__builtin_memcpy(addr, p->key.addr, sizeof(p->key.addr));
		about |= BH_VERDICT_CACHE_IPV6;
	}
	*(__u64 *)key->mac_to = *(__u64 *)&p->l3 >> 16;
	*(__u64 *)key->mac_from = *(__u64 *)p->mac_from << 16;
	key->generation = p->generation;
	key->changes = changes;
	key->ifindex = p->ifindex;
	key->ingress = p->ingress;
	key->about = about | BH_VERDICT_CACHE_HOOK(p->hook) | (p->from ? BH_VERDICT_CACHE_FROM : 0);
	key->pad = 0;
}

static __always_inline struct bh_verdict_cache *
verdict_cache_slot(const struct bh_verdict_cache_key *key)
{
	const __u64 *addr = key->addr;
	__u64 rest = (__u64)key->ifindex << 32 | key->about;
	__u32 index;

	if (key->about & BH_VERDICT_CACHE_IPV6)
		index = bh_ct_tag(__builtin_bswap64(addr[0] + addr[3]),
				  __builtin_bswap64(addr[1] + addr[2]), rest);
	else
		index = bh_ct_tag(addr[0], 0, rest);
	index >>= 32 - BH_VERDICT_CACHE_BITS;
	return bpf_map_lookup_elem(&bh_verdicts, &index);
}

static __always_inline bool verdict_cache_same(const struct bh_verdict_cache_key *a,
					       const struct bh_verdict_cache_key *b)
{
	return !((a->addr[0] ^ b->addr[0]) | (a->addr[1] ^ b->addr[1]) | (a->addr[2] ^ b->addr[2]) |
		 (a->addr[3] ^ b->addr[3]) | (*(__u64 *)a->mac_to ^ *(__u64 *)b->mac_to) |
		 (*(__u64 *)a->mac_from ^ *(__u64 *)b->mac_from) | (a->generation ^ b->generation) |
		 (a->changes ^ b->changes) | (a->ifindex ^ b->ifindex) | (a->ingress ^ b->ingress) |
		 (a->about ^ b->about));
}

/* Copies the cached answer to *@found. Returns whether there is a valid one. */
BPF_GLOBAL int verdict_cache_find(const struct packet *p, __u32 changes, __u32 about,
				  struct bh_cached *found)
{
	struct bh_verdict_cache_key key;
	struct bh_verdict_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return false;
	verdict_cache_key(p, changes, about, &key);
	slot = verdict_cache_slot(&key);
	if (!slot)
		return false;
	sequence = READ_ONCE(slot->sequence);
	barrier();
	if (sequence & 1 || !verdict_cache_same(&slot->key, &key))
		return false;
	*found = slot->found;
	barrier();
	return READ_ONCE(slot->sequence) == sequence;
}

BPF_GLOBAL int verdict_cache_keep(const struct packet *p, __u32 changes, __u32 about,
				  const struct bh_cached *found)
{
	struct bh_verdict_cache_key key;
	struct bh_verdict_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return 0;
	verdict_cache_key(p, changes, about, &key);
	slot = verdict_cache_slot(&key);
	if (!slot)
		return 0;
	sequence = READ_ONCE(slot->sequence);
	if (sequence & 1 ||
	    __sync_val_compare_and_swap(&slot->sequence, sequence, sequence + 1) != sequence)
		return 0;
	slot->key = key;
	slot->found = *found;
	barrier();
	WRITE_ONCE(slot->sequence, sequence + 2);
	return 0;
}

#endif
