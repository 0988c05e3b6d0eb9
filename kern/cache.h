/* SPDX-License-Identifier: GPL-2.0-only */
/* What was found for the last packets of a kind (maps/cache.h): a copy in, a copy out. */
#ifndef BULKHEAD_KERN_CACHE_H
#define BULKHEAD_KERN_CACHE_H

#include "packet.h"
#include "maps/cache.bpf.h"
#include "maps/config.bpf.h"

/* The step that the maps are at, to be asked before anything is looked up; odd: nothing is kept. */
static __always_inline __u32 cache_changes(const struct packet *p)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config && p->generation ? READ_ONCE(config->changes) : 1;
}

static __always_inline struct bh_cache *cache_slot(const struct packet *p, __u32 changes,
						   __u32 about, struct bh_cache_key *key)
{
	__u64 *addr = key->addr, a, b;
	__u32 index;

	if (p->version == 4) {
		__builtin_memcpy(addr, p->key4.addr, sizeof(p->key4.addr));
		addr[1] = addr[2] = addr[3] = 0;
		a = addr[0];
		b = 0;
	} else {
		__builtin_memcpy(addr, p->key6.addr, sizeof(p->key6.addr));
		a = __builtin_bswap64(addr[0] + addr[3]);
		b = __builtin_bswap64(addr[1] + addr[2]);
		about |= BH_CACHE_IPV6;
	}
	key->generation = p->generation;
	key->changes = changes;
	key->ifindex = p->ifindex;
	key->ingress = p->ingress;
	__builtin_memcpy(key->mac_to, p->mac_to, 2 * sizeof(key->mac_to));
	key->about = about | BH_CACHE_HOOK(p->hook) | (p->from ? BH_CACHE_FROM : 0);
	index = bh_ct_tag(a, b, (__u64)key->ifindex << 32 | key->about) >> (32 - BH_CACHE_BITS);
	return bpf_map_lookup_elem(&bh_cache, &index);
}

/* Returns whether it is known. */
CHECKED_ALONE int cache_find(const struct packet *p, __u32 changes, __u32 about,
			     struct bh_cached *found)
{
	struct bh_cache_key key;
	const __u64 *a, *b = (const __u64 *)&key;
	struct bh_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return false;
	slot = cache_slot(p, changes, about, &key);
	if (!slot)
		return false;
	sequence = READ_ONCE(slot->sequence);
	barrier();
	a = (const __u64 *)&slot->key;
	if (sequence & 1 || (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) |
				    (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6]) | (a[7] ^ b[7]))
		return false;
	*found = slot->found;
	barrier();
	return READ_ONCE(slot->sequence) == sequence;
}

CHECKED_ALONE int cache_keep(const struct packet *p, __u32 changes, __u32 about,
			     const struct bh_cached *found)
{
	struct bh_cache_key key;
	struct bh_cache *slot;
	__u32 sequence;

	if (!p || !found || changes & 1)
		return 0;
	slot = cache_slot(p, changes, about, &key);
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
