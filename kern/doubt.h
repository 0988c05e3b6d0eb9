/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call to a Service is evaluated where its backend shows: at the backend's own hook, or the host
 * egress hook. The caller's entry has the Service's address, and would let in the replies of a
 * backend to which that hook has denied the call. So a hook that drops a call after the node's
 * translation marks the caller's entry with BH_CT_BACKEND: then the caller's hook evaluates the
 * next reply by the backend that conntrack names, until a reply is allowed.
 */
#ifndef BULKHEAD_KERN_DOUBT_H
#define BULKHEAD_KERN_DOUBT_H

#include "flow_cache.h"
#include "netfilter.h"

/* Fills in the key of the call as its sender sent it, as the kernel has told. Returns false if the
 * node has not translated the called address. */
static __noinline bool doubt_key(const struct packet *p, struct table_key *key)
{
	struct bh_translation *told = translation_answer(p);
	const struct bh_addr *to = packet_address_at(p, !p->from);

	if (!told || p->told != TOLD_ORIGINAL)
		return false;
	if (told->called_port == packet_port(p, !p->from) && told->called.word[3] == to->word[3] &&
	    told->called.word[2] == to->word[2] && told->called.word[1] == to->word[1] &&
	    told->called.word[0] == to->word[0])
		return false;
	*key = (struct table_key){.key.protocol = p->protocol};
	table_ends(key, &told->initiator, told->initiator_port, &told->called, told->called_port);
	return true;
}

static __always_inline void doubt_entry(struct table_key *key)
{
	struct bh_ct *ct;
	__u64 word;

	table_hash(key);
	ct = table_find(key);
	if (!ct)
		return;
	word = READ_ONCE(ct->verdict[BH_EGRESS]);
	if (word & BH_CT_SERVICE)
		ct_change(ct, (__u32)word & ~BH_CT_FLAGS, BH_CT_BACKEND, 0);
}

/* Marks the entries of the caller whose packet is dropped: that of the connection, and that of a
 * SYN which waits beside it. Returns true if the node has translated the called address. */
BPF_GLOBAL int doubt_call(const struct packet *p)
{
	struct table_key key;

	if (!p || !doubt_key(p, &key))
		return 0;
	flow_cache_void(&key.key, p->version == 4);
	doubt_entry(&key);
	if (p->protocol != IPPROTO_TCP)
		return true;
	key.key.kind = BH_CT_WAITING;
	doubt_entry(&key);
	return true;
}

BPF_GLOBAL int doubt_local_call(struct __sk_buff *skb, struct packet *p)
{
	struct bh_iface *iface;

	if (!p)
		return 0;
	iface = endpoint_iface(p->ingress);
	if (!iface || !(iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA)))
		return 0;
	if (!p->told) {
		if (netfilter_is_as_called(skb, p))
			return 0;
		p->told = netfilter_ask(skb, p);
	}
	return doubt_call(p);
}

/* Marks the entries of the caller whose packet the hook of an endpoint drops, if the caller is
 * another endpoint of this node. Returns true if the node has translated the called address. */
static __always_inline bool doubt_at_endpoint(struct __sk_buff *skb, struct packet *p)
{
	return kernel_conntrack && p->hook == BH_HOOK_TO_ENDPOINT && p->class == PACKET_FLOW &&
	       p->ingress && doubt_local_call(skb, p);
}

#endif
