/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path passes TCP and UDP packets of an open connection that both ends allow. It takes
 * packets without VLAN tag, IP option, fragment or extension header, whose headers are in the
 * linear part and whose lengths agree, without an address of ::/64, and no TCP segment that opens
 * or closes. Most packets are such, and need no struct packet. Nor do the first packets of a
 * connection that both ends allow (handshake.h), and those of a flow that policy has just denied
 * (denial.h). All other packets go to parse.h.
 */
#ifndef BULKHEAD_KERN_FAST_PATH_H
#define BULKHEAD_KERN_FAST_PATH_H

#include "checksum.h"
#include "flow_cache.h"
#include "handshake.h"

struct fast_path_scratch {
	struct table_key key;
	struct handshake_segment segment; /* TCP */
};

/* tc_hook() has it in the bytes of its struct packet. */
_Static_assert(sizeof(struct fast_path_scratch) <= sizeof(struct packet) &&
		       offsetof(struct fast_path_scratch, key) == 0 &&
		       sizeof(union flow_cache_key) == sizeof(struct bh_ct_key),
	       "struct fast_path_scratch");

/* No lookup of the connection has been made: nor is there a key, or the packet is a SYN of an
 * endpoint's hook, whose key has its hash. */
#define FAST_PATH_UNSEARCHED (~0u)
#define FAST_PATH_SYN (~0u - 1)

struct fast_path {
	hook_context *ctx;
	union flow_cache_key *key; /* points to the key of a struct fast_path_scratch */
	void *data, *end;
	__u32 hook; /* enum bh_hook */
	__u32 generation; /* read once */
	/* Of the open connection that the fast path has found. */
	struct bh_ct *ct;
	__u64 word; /* the initiator's connection word */
	__u32 from; /* which end of the key sent the packet */
	/* place in the table of the connection, open or not; 0: the table has none; or
	 * FAST_PATH_UNSEARCHED, FAST_PATH_SYN */
	__u32 at;
	bool begins; /* both ends allow `ct`, and it is not open yet */
	bool opens; /* a SYN: no connection of the table lets it pass */
};

static __always_inline struct handshake_segment *fast_path_segment(const struct fast_path *p)
{
	return &((struct fast_path_scratch *)p->key)->segment;
}

/* Returns true if the packet is a SYN-ACK. */
static __always_inline bool fast_path_answers(const struct fast_path *p, __u8 protocol)
{
	return protocol == IPPROTO_TCP && unlikely(fast_path_segment(p)->answers);
}

/* Returns true if the transport header is one of TCP that does not close, or of UDP, and its length
 * is at most @length, the one that the IP header gives. At the host egress hook no TCP segment with
 * SYN is such. The caller has checked that @l4 has the bytes of a UDP header. */
static __always_inline bool fast_path_transport(struct fast_path *p, const void *l4, __u8 protocol,
						int length)
{
	struct handshake_segment *segment = fast_path_segment(p);
	const struct udphdr *udp = l4;
	const struct tcphdr *tcp = l4;
	__u32 flags;
	int own;

	if (protocol == IPPROTO_UDP) {
		own = bpf_ntohs(udp->len);
		return own >= (int)sizeof(*udp) && own <= length;
	}
	if (protocol != IPPROTO_TCP || (void *)(tcp + 1) > p->end)
		return false;
	flags = ((__u8 *)tcp)[13] & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK);
	if (flags != TCP_ACK &&
	    (!(flags & TCP_SYN) || flags & (TCP_FIN | TCP_RST) || p->hook == BH_HOOK_LEAVE))
		return false;
	p->opens = flags == TCP_SYN;
	segment->answers = flags != TCP_ACK;
	segment->sequence = bpf_ntohl(tcp->seq);
	own = tcp->doff * 4;
	segment->acknowledged = bpf_ntohl(tcp->ack_seq);
	return own >= (int)sizeof(*tcp) && own <= length;
}

/* Returns true if both ends allow the entry's connection, which is open, and the packet is at the
 * interface of its end. @want: the word of an end that allows the connection. */
static __always_inline bool fast_path_allowed(struct fast_path *p, struct bh_ct *ct, __u64 want,
					      const struct ct_sight *at, __u8 protocol)
{
	p->ct = ct;
	if (!ct_allowed(ct, want, &p->word))
		return false;
	if (unlikely(fast_path_answers(p, protocol) || READ_ONCE(ct->state) & BH_CT_STATE)) {
		p->begins = true;
		return false;
	}
	if (!ct_ends_match(ct->end, p->word, at) || !ct_alive(ct, protocol, ct_now()))
		return false;
	if (protocol == IPPROTO_TCP)
		ct_acknowledge(ct, p->from, fast_path_segment(p)->sequence,
			       fast_path_segment(p)->acknowledged);
	return true;
}

/* Looks for the connection of the whole key in @p->key. Sets *@want to the word of an end that
 * allows the connection, without the interfaces of the ends. */
static __always_inline struct bh_ct *fast_path_lookup(struct fast_path *p, __u64 *want)
{
	struct table_key *key = (void *)p->key;

	table_hash(key);
	*want = bh_ct_word(p->generation, bh_ct_hash_tag(key->hash), BH_CT_ALLOW);
	return table_find_inline(key, &p->at);
}

static __always_inline struct ct_sight fast_path_sight(struct fast_path *p, __u32 from)
{
	p->from = from;
	return (struct ct_sight){p->hook, from, p->ctx->ifindex, p->ctx->ingress_ifindex,
				 p->data + ETH_ALEN};
}

/* Returns true if the flow cache has the connection of the key in @p->key. */
static __always_inline bool fast_path_cached(struct fast_path *p, bool ipv4, __u8 protocol,
					     __u32 from)
{
	struct ct_sight at = fast_path_sight(p, from);
	struct bh_flow_cache_found *found;
	__u64 *key;

	found = redirect || unlikely(p->opens) || fast_path_answers(p, protocol)
			? NULL
			: flow_cache_slot(p->key, ipv4, &key);
	p->word = found ? flow_cache_serves(found, key, p->key, FLOW_CACHE_WORDS(ipv4),
					    p->generation, &at)
			: 0;
	return p->word;
}

/* Returns true if the table has an open connection of the key in @p->key. */
static __always_inline bool fast_path_open(struct fast_path *p, __u8 protocol, __u32 from)
{
	struct ct_sight at = fast_path_sight(p, from);
	struct bh_ct *ct;
	__u64 want;

	if (unlikely(p->opens)) {
		table_hash((void *)p->key);
		p->at = FAST_PATH_SYN;
		return false;
	}
	ct = fast_path_lookup(p, &want);
	return ct && fast_path_allowed(p, ct, want, &at, protocol);
}

/* Puts the connection into the flow cache, for the next packets. */
static __always_inline void fast_path_remember(struct fast_path *p, bool ipv4)
{
	struct bh_flow_cache_found *found;
	__u64 *key;

	found = redirect ? NULL : flow_cache_slot(p->key, ipv4, &key);
	if (!found || !flow_cache_begins(found))
		return;
#pragma unroll
	for (int i = 0; i < FLOW_CACHE_WORDS(ipv4); i++)
		key[i] = p->key->word[i];
	flow_cache_keep(found, p->generation, p->ct, p->word);
}

static __always_inline void fast_path_short(struct fast_path *p, __be32 lower, __be32 upper,
					    __u64 rest)
{
	p->key->word[0] = (__u64)upper << 32 | lower;
	p->key->word[1] = rest;
}

static __always_inline bool fast_path_find4(struct fast_path *p, __be32 lower, __be32 upper,
					    __u64 rest, __u32 from)
{
	fast_path_short(p, lower, upper, rest);
	if (fast_path_cached(p, true, rest >> 32, from))
		return true;
	/* makes the compiler read the packet again instead of saving values on the stack */
	barrier();
	p->key->word[0] = 0;
	p->key->word[1] = parse_mapped(lower);
	p->key->word[2] = 0;
	p->key->word[3] = parse_mapped(upper);
	p->key->word[4] = rest;
	if (!fast_path_open(p, rest >> 32, from))
		return false;
	fast_path_short(p, lower, upper, rest);
	fast_path_remember(p, true);
	return true;
}

static __always_inline bool fast_path_ipv4(struct fast_path *p, const struct iphdr *ip)
{
	const void *l4 = ip + 1;
	__u32 total;

	if (l4 + sizeof(struct udphdr) > p->end || ip->version != 4 || ip->ihl != 5 ||
	    ip->frag_off & bpf_htons(FRAGMENT_OFFSET | FRAGMENT_MORE))
		return false;
	total = bpf_ntohs(ip->tot_len);
	if (total > p->ctx->len - ETH_HLEN ||
	    !fast_path_transport(p, l4, ip->protocol, (int)(total - sizeof(*ip))) ||
	    checksum_is_outside(p->ctx, ETH_HLEN + sizeof(*ip), ip->protocol))
		return false;
	if (ip->saddr < ip->daddr)
		return fast_path_find4(p, ip->saddr, ip->daddr,
				       parse_last_word(*(const __u32 *)l4, ip->protocol, false), 0);
	return ip->saddr > ip->daddr &&
	       fast_path_find4(p, ip->daddr, ip->saddr,
			       parse_last_word(*(const __u32 *)l4, ip->protocol, true), 1);
}

static __always_inline bool fast_path_find6(struct fast_path *p, const __be64 lower[2],
					    const __be64 upper[2], __u64 rest, __u32 from)
{
	p->key->word[0] = lower[0];
	p->key->word[1] = lower[1];
	p->key->word[2] = upper[0];
	p->key->word[3] = upper[1];
	p->key->word[4] = rest;
	if (fast_path_cached(p, false, rest >> 32, from))
		return true;
	barrier(); /* as in fast_path_find4() */
	if (!fast_path_open(p, rest >> 32, from))
		return false;
	fast_path_remember(p, false);
	return true;
}

static __always_inline bool fast_path_ipv6(struct fast_path *p, const struct ipv6hdr *ip)
{
	const __be64 *source = (void *)&ip->saddr, *destination = (void *)&ip->daddr;
	const void *l4 = ip + 1;
	__u32 length;

	if (l4 + sizeof(struct udphdr) > p->end || ip->version != 6 || !source[0] ||
	    !destination[0])
		return false;
	length = bpf_ntohs(ip->payload_len);
	if (length > p->ctx->len - ETH_HLEN - sizeof(*ip) ||
	    !fast_path_transport(p, l4, ip->nexthdr, length) ||
	    checksum_is_outside(p->ctx, ETH_HLEN + sizeof(*ip), ip->nexthdr))
		return false;
	if (source[0] < destination[0] ||
	    (source[0] == destination[0] && source[1] < destination[1]))
		return fast_path_find6(p, source, destination,
				       parse_last_word(*(const __u32 *)l4, ip->nexthdr, false), 0);
	return (source[0] != destination[0] || source[1] != destination[1]) &&
	       fast_path_find6(p, destination, source,
			       parse_last_word(*(const __u32 *)l4, ip->nexthdr, true), 1);
}

/* Returns true if the packet is of an open connection that both ends allow at the active
 * generation. */
static __always_inline bool fast_path_packet(struct fast_path *p)
{
	const struct ethernet_header *eth;

	p->at = FAST_PATH_UNSEARCHED;
	p->begins = p->opens = false;
	p->generation = packet_generation();
	p->data = hook_data(p->ctx);
	p->end = hook_end(p->ctx);
	eth = p->data;
	if ((void *)(eth + 1) > p->end)
		return false;
	if (eth->type == bpf_htons(ETH_P_IP))
		return fast_path_ipv4(p, (void *)(eth + 1));
	return eth->type == bpf_htons(ETH_P_IPV6) && fast_path_ipv6(p, (void *)(eth + 1));
}

/* Returns true if a packet that fast_path_packet() did not take is the next one of its connection's
 * first ones (handshake.h). A call to a Service may have got another backend, and is evaluated
 * again. */
static __always_inline bool fast_path_shakes(struct fast_path *p)
{
	struct handshake_segment *segment = fast_path_segment(p);
	__u8 protocol = p->key->key6.protocol;

	if (!p->begins || (protocol == IPPROTO_TCP && p->hook == BH_HOOK_LEAVE) ||
	    (p->word & BH_CT_SERVICE && p->hook == BH_HOOK_FROM_ENDPOINT))
		return false;
	segment->at = fast_path_sight(p, p->from);
	segment->initiates = !!(p->word & BH_CT_INITIATOR) == p->from;
	return handshake_packet(p->ct, segment, p->word, protocol);
}

/* Returns true if fast_path_packet() has looked for the connection of the packet. */
static __always_inline bool fast_path_has_searched(const struct fast_path *p)
{
	return p->at < FAST_PATH_SYN;
}

/* Returns true if the packet, which is parsed now, has the form that the fast path takes. */
static __always_inline bool fast_path_takes(const struct packet *p)
{
	return p->l3 == ETH_HLEN && p->l4 == p->l3 + (p->version == 4 ? 20 : 40) &&
	       (p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP);
}

#endif
