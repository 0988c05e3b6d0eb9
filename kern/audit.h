/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that the hook of an endpoint in audit would have dropped. Each counts once. If the
 * destination is an endpoint of this node, its hook counts the packet: as a drop if it drops it,
 * else with the reason for which the first hook would have dropped it. The first hook hands that
 * reason on in the skb's tc_index.
 */
#ifndef BULKHEAD_KERN_AUDIT_H
#define BULKHEAD_KERN_AUDIT_H

#include "audit_mark.h"
#include "conntrack.h"
#include "flow_cache.h"
#include "link.h"

_Static_assert(BH_REASONS <= AUDIT_REASON, "AUDIT_REASON");

static __always_inline bool audit_here(const struct packet *p)
{
	struct bh_iface *iface = p->enforced ? NULL : endpoint_iface(p->ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT &&
	       !(p->hook == BH_HOOK_FROM_ENDPOINT && link_hijacks(p, iface->bridge));
}

/* Returns true if the packet goes on to another endpoint of this node: by its MAC on a bridge, else
 * by its address, if it has an IP header that the host can route. */
static __always_inline bool audit_is_forwarded(const struct packet *p)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct end to = {};
	struct bh_mac *mac;
	int error;

	__builtin_memcpy(key.mac, p->mac_to, sizeof(key.mac));
	mac = active_lookup(&at_macs, &key);
	if (mac)
		error = endpoint_of(mac->ifindex, p->version, p->generation, &to);
	else if (p->l4)
		error = endpoint_resolve(packet_address_at(p, !p->from), p->generation, &to);
	else
		return false;
	return !error && to.ifindex && to.ifindex != p->ifindex;
}

/* Returns true if the destination's hook counts the packet. If so, hands it @p->audit. */
static __noinline bool audit_hand_on(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_ct *ct;

	if (p->hook != BH_HOOK_FROM_ENDPOINT || !audit_is_forwarded(p))
		return false;
	/* The fast path of the destination's hook does not read tc_index: BH_CT_LOOK keeps the
	 * packet off it. */
	ct = ct_lookup(p);
	if (ct) {
		flow_cache_forget(p);
		ct_state(p, ct, BH_CT_LOOK, 0);
	}
	skb->tc_index = AUDIT_HANDED_ON | p->audit;
	return true;
}

/* Returns the reason that the first hook handed on to this one; 0: none. */
static __always_inline __u8 audit_handed_on(struct __sk_buff *skb, __u32 hook)
{
	__u32 mark = skb->tc_index, reason = mark & AUDIT_REASON;
	struct bh_iface *iface;

	if (likely((mark & ~AUDIT_REASON) != AUDIT_HANDED_ON) || hook != BH_HOOK_TO_ENDPOINT)
		return 0;
	skb->tc_index = 0; /* the endpoint may forward the packet */
	iface = endpoint_iface(skb->ingress_ifindex);
	/* an endpoint that is not in audit may have written tc_index itself */
	if (iface && !(iface->flags & BH_IFACE_AUDIT))
		return 0;
	return bh_reason_drops(reason) && reason < BH_REASONS ? reason : 0;
}

/* Marks a packet that the endpoint's hook has counted, so that tc_leave does not count it again. */
static __always_inline void audit_counted(struct __sk_buff *skb, const struct packet *p)
{
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		skb->tc_index = AUDIT_COUNTED;
}

/* Returns true if the hook of @sender, an endpoint in audit, has counted the packet. */
static __always_inline bool audit_was_counted(struct __sk_buff *skb, __u32 sender)
{
	return unlikely(skb->tc_index == AUDIT_COUNTED) && endpoint_in_audit(sender);
}

#endif
