/* SPDX-License-Identifier: GPL-2.0-only */
/* Drops the next packets of a flow that policy has just denied (maps/denial.h). */
#ifndef BULKHEAD_KERN_DENIAL_H
#define BULKHEAD_KERN_DENIAL_H

#include "event_records.h"
#include "fast_path.h"
#include "netfilter.h"
#include "maps/denial.bpf.h"

static __always_inline struct bh_denial *denial_slot(__u64 hash)
{
	__u32 zero = 0;
	struct bh_denials *denials = bpf_map_lookup_elem(&bh_denials, &zero);

	if (!denials)
		return NULL;
	SETTLE(denials);
	return &denials->slot[hash & ((1u << BH_DENIAL_BITS) - 1)];
}

/* Returns the stamp of a flow that is denied now, by its key's hash. */
static __always_inline __u64 denial_stamp(__u64 hash)
{
	return hash + bpf_jiffies64();
}

/* Returns a number that stands for the packet's entry of the kernel's conntrack, at the hook behind
 * the node's translation. The map does not show the entry's address. */
static __always_inline __u64 denial_tracked(struct __sk_buff *skb, __u32 hook)
{
	return hook == BH_HOOK_TO_ENDPOINT ? netfilter_nfct(skb) ^ ct_seed : 0;
}

static __always_inline bool denial_differs(const struct bh_denial *denial,
					   const struct table_key *key)
{
	const __u64 *has = (const __u64 *)&denial->key;

	return (has[4] ^ key->word[4]) | (has[3] ^ key->word[3]) | (has[1] ^ key->word[1]) |
	       (has[2] ^ key->word[2]) | (has[0] ^ key->word[0]);
}

/* Returns true if the packet's source is not the record's. The key has both ends, whoever sends. */
static __always_inline bool denial_is_reversed(const struct bh_denial *denial,
					       const struct ethernet_header *eth, const void *end)
{
	const __u64 *source = (const __u64 *)&denial->event.source, *from;
	const struct ipv6hdr *ip = (const void *)(eth + 1);
	const struct iphdr *ip4 = (const void *)ip;

	if (eth->type == bpf_htons(ETH_P_IP))
		return (void *)(ip4 + 1) > end || ip4->saddr != denial->event.source.word[3];
	from = (const void *)&ip->saddr;
	return (void *)(ip + 1) > end || (from[0] ^ source[0]) | (from[1] ^ source[1]);
}

/* Returns true if the packet may be a flow's that policy has just denied: it would open a
 * connection, and the fast path has its key and hash. */
static __always_inline bool denial_may_be_known(const struct fast_path *path)
{
	return path->at == FAST_PATH_SYN || (!path->at && path->key->key6.protocol == IPPROTO_UDP);
}

/* Returns the slot of the packet's denial. NULL: evaluate the packet. */
static __always_inline struct bh_denial *
denial_find(struct __sk_buff *skb, const struct table_key *key, __u32 hook, __u32 generation)
{
	const struct ethernet_header *eth = hook_data(skb);
	struct bh_denial *denial;
	__u32 sequence;
	__u64 differs;

	denial = denial_slot(key->hash);
	if (!denial || denial->kept != denial_stamp(key->hash) || (void *)(eth + 1) > hook_end(skb))
		return NULL;
	sequence = READ_ONCE(denial->sequence);
	barrier();
	differs = (denial->mac[0] ^ *(__u64 *)eth->to) | (denial->mac[1] ^ *(__u64 *)eth->from) |
		  (denial->event.generation ^ generation) | (denial->event.ifindex ^ skb->ifindex) |
		  (denial->ingress ^ skb->ingress_ifindex) | (denial->event.hook ^ hook) |
		  (sequence & 1);
	if (differs || denial_differs(denial, key) ||
	    denial_is_reversed(denial, eth, hook_end(skb)) || denial->changes != packet_changes() ||
	    denial->tracked != denial_tracked(skb, hook))
		return NULL;
	barrier();
	return READ_ONCE(denial->sequence) == sequence ? denial : NULL;
}

/* Counts and reports the packet if policy has just denied another one like it. Returns true if so.
 */
BPF_GLOBAL int denial_repeats(struct __sk_buff *skb, const struct table_key *key, __u32 hook,
			      __u32 generation)
{
	struct bh_denial *denial = key ? denial_find(skb, key, hook, generation) : NULL;

	if (!denial)
		return false;
	*events_length(&denial->event) = skb->len;
	if (denial->event.verdict[BH_EGRESS])
		events_rule(denial->event.verdict[BH_EGRESS]);
	if (denial->event.verdict[BH_INGRESS])
		events_rule(denial->event.verdict[BH_INGRESS]);
	events_record(&denial->event, skb->ingress_ifindex, skb->ifindex);
	return true;
}

/* Returns true if the next packet like this one is denied for the same reason: policy's answer is
 * about the packet's own addresses, and no connection that exists, of the table or of the kernel's
 * conntrack, has told whom the packet is from or goes to. */
static __always_inline bool denial_lasts(const struct packet *p, __u32 reason)
{
	if (!p->enforced || p->audit || p->class != PACKET_FLOW || p->flags || p->key.scope ||
	    p->reply || p->links || p->local || p->named || p->told > TOLD_NOTHING ||
	    !fast_path_takes(p))
		return false;
	if (p->protocol == IPPROTO_TCP
		    ? (p->tcp_flags & (TCP_SYN | TCP_ACK | TCP_FIN | TCP_RST)) != TCP_SYN
		    : !p->absent)
		return false;
	return (reason == BH_DROP_EGRESS && p->verdict[BH_EGRESS]) ||
	       (reason == BH_DROP_INGRESS && p->verdict[BH_INGRESS]);
}

/* Keeps the packet's denial, if it lasts and is the second one of its flow within the jiffy. Of
 * most flows of a flood from many ports there is no second one. */
BPF_GLOBAL int denial_keep(struct __sk_buff *skb, const struct packet *p, __u32 reason)
{
	const struct ethernet_header *eth = hook_data(skb);
	struct bh_denial *denial;
	__u32 sequence;
	__u64 stamp;

	denial = p ? denial_slot(p->hash) : NULL;
	if (!denial)
		return 0;
	stamp = denial_stamp(p->hash);
	if (denial->seen != stamp) {
		denial->seen = stamp;
		return 0;
	}
	sequence = READ_ONCE(denial->sequence);
	if (sequence & 1 || p->changes & 1 || !denial_lasts(p, reason) ||
	    (void *)(eth + 1) > hook_end(skb))
		return 0;
	WRITE_ONCE(denial->sequence, sequence + 1);
	barrier();
	denial->key = p->key;
	denial->kept = stamp;
	denial->mac[0] = *(__u64 *)eth->to;
	denial->mac[1] = *(__u64 *)eth->from;
	denial->tracked = denial_tracked(skb, p->hook);
	denial->changes = p->changes;
	denial->ingress = p->ingress;
	events_fill(&denial->event, p, reason, false);
	barrier();
	WRITE_ONCE(denial->sequence, sequence + 2);
	return 0;
}

#endif
