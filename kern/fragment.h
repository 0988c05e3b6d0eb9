/* SPDX-License-Identifier: GPL-2.0-only */
/* Later fragments. They have no ports: each passes if the first fragment of its datagram has
 * passed, else it drops. */
#ifndef BULKHEAD_KERN_FRAGMENT_H
#define BULKHEAD_KERN_FRAGMENT_H

#include "anti_spoofing.h"
#include "scope.h"
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

/* Notes that a first fragment has passed. */
static __noinline void fragment_remember(const struct packet *p)
{
	struct bh_fragment_key key = {};
	struct bh_fragment fragment;

	fragment_key(p, &key);
	fragment.first = (__u64)p->now << 32 | bh_fragment_tag(&key) |
			 (p->uncounted ? BH_FRAGMENT_UNCOUNTED : 0) | p->fragment_length;
	bpf_map_update_elem(&bh_fragments, &key, &fragment, BPF_ANY);
}

/* Checks the source of a later fragment as that of a first one: a bridge learns the MAC of each. A
 * packet at the leave hook has passed its sender's own hook. */
BPF_GLOBAL int fragment_claim(const struct packet *p)
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
	if (reason || endpoint_is_cover(p, &source, &other))
		return reason;
	if (p->hook == BH_HOOK_TO_ENDPOINT)
		return spoofing_claim(p, &source);
	reason = spoofing_check(p, &source);
	return reason ? reason : spoofing_link(p);
}

/* Returns an enum bh_reason. */
static __noinline int fragment_follow(struct packet *p)
{
	struct bh_fragment_key key = {};
	struct bh_fragment *fragment;
	__u64 first;
	int reason = fragment_claim(p);

	if (reason)
		return reason;
	fragment_key(p, &key);
	fragment = bpf_map_lookup_elem(&bh_fragments, &key);
	if (!fragment)
		return BH_DROP_NO_FIRST;
	first = READ_ONCE(fragment->first);
	if (((__u32)first & BH_FRAGMENT_TAG) != bh_fragment_tag(&key) ||
	    p->now - (__u32)(first >> 32) > timeout_fragment)
		return BH_DROP_NO_FIRST;
	if (p->fragment_at < (__u16)first)
		return BH_DROP_OVERLAP;
	p->uncounted = !!(first & BH_FRAGMENT_UNCOUNTED);
	return BH_PASS_FRAGMENT;
}

#endif
