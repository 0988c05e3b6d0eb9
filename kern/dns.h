/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Learns addresses from DNS answers, before the endpoint gets them (maps/dns.h). Nothing is ever
 * dropped here. The connection of a question is marked (BH_CT_DNS), so that none of its packets
 * takes the fast path, and each is seen.
 */
#ifndef BULKHEAD_KERN_DNS_H
#define BULKHEAD_KERN_DNS_H

#include "dns_stream.h"
#include "netfilter.h"

#define DNS_TYPE_A bpf_htons(1)
#define DNS_TYPE_CNAME bpf_htons(5)
#define DNS_TYPE_AAAA bpf_htons(28)
#define DNS_CLASS_IN bpf_htons(1)
#define DNS_ANSWER 0x80 /* these three: of the first byte of the flags */
#define DNS_OPCODE 0x78
#define DNS_CUT 0x02
#define DNS_ERROR 0x0f /* of the second byte */
#define DNS_TTL_MAX (7 * 86400) /* s */
#define DNS_AT_ONCE 4 /* records of a step of bpf_loop(), whose calls cost more than they do */

/* What a record has between its owner and its data. */
struct dns_fixed {
	__be16 type, class;
	__be16 ttl[2];
	__be16 length;
};

struct dns_header {
	__be16 id;
	__u8 flags[2];
	__be16 questions, answers, authorities, additional;
};

/* Returns the number at @at, in network order. Beyond the message it may be any. */
static __always_inline __be16 dns_number(struct bh_dns_work *work, __u32 at)
{
	return *(const __be16 *)dns_byte(work, at);
}

/* Reads the question. Returns false if there is not just one, of a class and form that count. */
static __noinline bool dns_question(struct bh_dns_work *work)
{
	const struct dns_header *header = (void *)work->bytes;

	if (work->length < DNS_HEADER || header->questions != bpf_htons(1) ||
	    !dns_name(work, DNS_HEADER) || work->end + 4 > work->length)
		return false;
	work->n_domains = 0;
	work->name = dns_hash(work, true);
	work->type = dns_number(work, work->end);
	work->at = work->end + 4;
	return dns_number(work, work->end + 2) == DNS_CLASS_IN;
}

/* Returns the bucket of a question. */
static __always_inline struct bh_question_key dns_bucket(const struct packet *p, __be16 id)
{
	return (struct bh_question_key){
		.ifindex = p->ifindex,
		.bucket = ((__u32)p->hash ^ id) & (BH_QUESTION_BUCKETS - 1),
	};
}

static __noinline void dns_ask(const struct packet *p, struct bh_dns_work *work)
{
	const struct dns_header *header = (void *)work->bytes;
	struct bh_question_key key = dns_bucket(p, header->id);
	struct bh_questions *bucket = bpf_map_lookup_elem(&bh_questions, &key);
	struct bh_question *at;

	if (!bucket && dns_learner(p->ifindex)) {
		bpf_map_update_elem(&bh_questions, &key, &work->none, BPF_NOEXIST);
		bucket = bpf_map_lookup_elem(&bh_questions, &key);
	}
	if (!bucket) {
		dns_count(BH_DNS_FULL);
		return;
	}
	at = &bucket->way[__sync_fetch_and_add(&bucket->next, 1) & (BH_QUESTION_WAYS - 1)];
	WRITE_ONCE(at->flow, 0);
	barrier();
	at->name = work->name;
	at->asked = p->now;
	at->id = header->id;
	at->type = work->type;
	barrier();
	WRITE_ONCE(at->flow, p->hash | 1);
	dns_count(BH_DNS_QUESTION);
}

/* Removes the question that the message answers. Returns false if the endpoint has not asked it. */
static __noinline bool dns_was_asked(const struct packet *p, const struct bh_dns_work *work)
{
	const struct dns_header *header = (void *)work->bytes;
	struct bh_question_key key = dns_bucket(p, header->id);
	struct bh_questions *bucket = bpf_map_lookup_elem(&bh_questions, &key);
	const __u64 flow = p->hash | 1;

	if (!bucket)
		return false;
#pragma unroll
	for (int i = 0; i < BH_QUESTION_WAYS; i++) {
		struct bh_question *at = &bucket->way[i];

		if (READ_ONCE(at->flow) != flow || at->id != header->id || at->name != work->name ||
		    at->type != work->type || p->now - at->asked > timeout_udp_stream)
			continue;
		return __sync_val_compare_and_swap(&at->flow, flow, 0) == flow;
	}
	return false;
}

/* The state of a walk over the records of an answer. */
struct dns_walk {
	struct bh_dns_work *work;
	const struct packet *p;
	struct bh_learner *learner;
	/* The verifier follows the value of a number at a multiple of 8 bytes of the stack, and
	 * would go through a loop once for each value. */
	__u32 pad;
	__u16 records; /* number of records that are left */
	__u16 taught; /* number of found addresses that are learned */
};

/* Finds the hash of the name at work->at, the owner of a record. Sets work->end. */
static __always_inline __u64 dns_owner(struct bh_dns_work *work)
{
	__u32 pointer = bpf_ntohs(dns_number(work, work->at));

	if ((pointer & 0xc000) == 0xc000) {
		work->end = work->at + 2;
		pointer &= 0x3fff;
		if (pointer == DNS_HEADER)
			return work->name;
		if (pointer == work->target_at)
			return work->target;
	}
	return dns_name(work, work->at) ? dns_hash(work, false) : 0;
}

/* Finds the labels of the target of a CNAME, whose data these are. Returns false if they are more
 * or less than the name, or if the name goes on behind them. */
static __noinline bool dns_target(struct bh_dns_work *work, __u32 at, __u32 length)
{
	const __u32 whole = work->length;
	bool fits;

	work->length = at + length;
	fits = dns_name(work, at) && work->end == at + length;
	work->length = whole;
	return fits;
}

/* Returns true if the data of a record have the form of its type. */
static __always_inline bool dns_fits(struct bh_dns_work *work, __be16 type, __u32 at, __u32 length)
{
	if (type == DNS_TYPE_A)
		return length == 4;
	if (type == DNS_TYPE_AAAA)
		return length == 16;
	return type != DNS_TYPE_CNAME || dns_target(work, at, length);
}

/* Notes an address, whose record counts. */
static __always_inline void dns_found(struct bh_dns_work *work, __u32 at, __u32 ttl)
{
	__u32 n = work->n_found++ & (DNS_RECORDS - 1);

	asm volatile("" : "+r"(n));
	work->found[n].at = at;
	work->found[n].ttl = ttl;
}

/* Returns the least of the record's TTL and its chain's. */
static __always_inline __u32 dns_least(const struct bh_dns_work *work,
				       const struct dns_fixed *record)
{
	__u32 ttl = bpf_ntohs(record->ttl[0]) << 16 | bpf_ntohs(record->ttl[1]);

	if (ttl > 0x7fffffff) /* RFC 2181: the highest bit counts as 0 */
		ttl = 0;
	return ttl < work->ttl ? ttl : work->ttl;
}

/* Copies the address at @at. */
static __always_inline void dns_address(struct bh_dns_work *work, __u32 at)
{
	const __be32 *from = (void *)dns_byte(work, at);
	const bool v4 = work->type == DNS_TYPE_A;
	struct bh_addr *to = &work->key.addr;

	to->word[0] = v4 ? 0 : from[0];
	to->word[1] = v4 ? 0 : from[1];
	to->word[2] = v4 ? bpf_htonl(0xffff) : from[2];
	to->word[3] = v4 ? from[0] : from[3];
}

/* Handles a record with an address of the chain's end, whose owner is a pointer, as nearly all are.
 * Returns false if it is another record, and has changed nothing then. */
static __always_inline bool dns_plain(struct bh_dns_work *work)
{
	const __u32 at = work->at + sizeof(__be16) + sizeof(struct dns_fixed);
	const __u32 length = work->type == DNS_TYPE_A ? 4 : 16;
	const struct dns_fixed *record = (void *)dns_byte(work, work->at + sizeof(__be16));

	if (dns_number(work, work->at) != bpf_htons(0xc000 | work->target_at) ||
	    record->type != work->type || record->class != DNS_CLASS_IN ||
	    record->length != bpf_htons(length) || at + length > work->length)
		return false;
	dns_found(work, at, dns_least(work, record));
	work->at = at + length;
	return true;
}

/* Handles one record. Returns false if the message breaks the format. */
static __always_inline bool dns_record(struct bh_dns_work *work)
{
	__u64 owner = dns_owner(work);
	const struct dns_fixed *record = (void *)dns_byte(work, work->end);
	__u32 at = work->end + sizeof(*record), length = bpf_ntohs(record->length), ttl;
	__be16 type = record->type;

	if (!owner || at + length > work->length)
		return false;
	work->at = at + length;
	if (record->class != DNS_CLASS_IN)
		return true;
	if (!dns_fits(work, type, at, length))
		return false;
	if (owner != work->target)
		return true;
	ttl = dns_least(work, record);
	if (type == work->type)
		dns_found(work, at, ttl);
	if (type != DNS_TYPE_CNAME)
		return true;
	work->ttl = ttl;
	work->target = dns_hash(work, dns_aliases);
	work->target_at = at;
	return true;
}

/* Handles some records, for bpf_loop(). */
static long dns_records(__u32 i __attribute__((unused)), struct dns_walk *walk)
{
	struct bh_dns_work *work = walk->work;

#pragma unroll
	for (int k = 0; k < DNS_AT_ONCE; k++) {
		if (!walk->records)
			return 1;
		walk->records--;
		if (!dns_plain(work))
			goto other;
	}
	return 0;
other:
	work->broken = !dns_record(work);
	return work->broken;
}

/* Learns some addresses of an answer, for bpf_loop(). */
static long dns_teach(__u32 i __attribute__((unused)), struct dns_walk *walk)
{
	struct bh_dns_work *work = walk->work;

#pragma unroll
	for (int k = 0; k < DNS_AT_ONCE; k++) {
		__u32 n = walk->taught;

		if (n >= work->n_found)
			return 1;
		walk->taught++;
		n &= DNS_RECORDS - 1;
		asm volatile("" : "+r"(n));
		work->ttl = work->found[n].ttl;
		dns_address(work, work->found[n].at);
		dns_stamp(work);
		if (!dns_known(walk->p, work, walk->learner))
			goto other;
	}
	return 0;
other:
	dns_learn(walk->p, walk->learner);
	return 0;
}

/* Learns the addresses that were found. */
static __always_inline void dns_teach_all(struct dns_walk *walk)
{
	struct bh_dns_work *work = walk->work;

	if (!work->n_domains || !work->n_found)
		return;
	work->key.ifindex = walk->p->ifindex;
	walk->learner = dns_learner(work->key.ifindex);
	if (!walk->learner)
		dns_count(BH_DNS_FULL);
	else
		bpf_loop(DNS_RECORDS, dns_teach, walk, 0);
}

/* Reads the answer to a question that the endpoint has asked. */
static __always_inline void dns_read(const struct packet *p, struct bh_dns_work *work, bool part)
{
	const struct dns_header *header = (void *)work->bytes;
	const __u32 records = bpf_ntohs(header->answers);
	struct dns_walk walk = {
		.work = work,
		.p = p,
		.records = records < DNS_RECORDS ? records : DNS_RECORDS,
	};

	work->target = work->name;
	work->target_at = DNS_HEADER;
	work->ttl = DNS_TTL_MAX;
	work->learned = work->n_found = 0;
	work->broken = false;
	bpf_loop(DNS_RECORDS, dns_records, &walk, 0);
	if (header->flags[0] & DNS_CUT) {
		dns_count(BH_DNS_TRUNCATED);
	} else if (work->broken && !part) {
		dns_count(BH_DNS_MALFORMED);
		return;
	}
	dns_teach_all(&walk);
	dns_count(work->learned ? BH_DNS_LEARNED : BH_DNS_EMPTY);
}

/* Reads the question of a message. Returns true if it may be one about a name of a policy: with
 * dns_aliases, any name may have such a name along its chain. */
static __always_inline bool dns_matters(struct bh_dns_work *work)
{
	if (!dns_question(work)) {
		dns_count(BH_DNS_MALFORMED);
		return false;
	}
	if (!work->n_domains && !dns_aliases)
		return false;
	return work->type == DNS_TYPE_A || work->type == DNS_TYPE_AAAA;
}

/* Handles the message in dns_work(), which the endpoint sends. Global: the verifier checks it once,
 * not for a datagram and for a segment. */
BPF_GLOBAL int dns_message_sent(const struct packet *p)
{
	struct bh_dns_work *work = dns_work(); /* an argument may be no map's key */
	const struct dns_header *header;

	if (!p || !work)
		return 0;
	header = (void *)work->bytes;
	if (dns_matters(work) && !(header->flags[0] & (DNS_ANSWER | DNS_OPCODE)))
		dns_ask(p, work);
	return 0;
}

/* The same of a message that the endpoint receives. @part: its end is in another packet, or is not
 * read. Then the whole records of its begin count, as in a message that the resolver has cut. */
BPF_GLOBAL int dns_message_received(const struct packet *p, __u32 part)
{
	struct bh_dns_work *work = dns_work();
	const struct dns_header *header;

	if (!p || !work)
		return 0;
	header = (void *)work->bytes;
	if (!dns_matters(work) || !(header->flags[0] & DNS_ANSWER))
		return 0;
	if (!dns_was_asked(p, work))
		dns_count(BH_DNS_UNASKED);
	else if (header->flags[0] & DNS_OPCODE || header->flags[1] & DNS_ERROR)
		dns_count(BH_DNS_ERROR);
	else
		dns_read(p, work, part);
	return 0;
}

/* Handle one message of a TCP segment, for bpf_loop(). */
static long dns_one_sent(__u32 i __attribute__((unused)), struct dns_segment *segment)
{
	struct bh_dns_work *work = dns_work();

	if (!work || !dns_next(segment, work))
		return 1;
	dns_message_sent(segment->p);
	return 0;
}

static long dns_one_received(__u32 i __attribute__((unused)), struct dns_segment *segment)
{
	struct bh_dns_work *work = dns_work();

	if (!work || !dns_next(segment, work))
		return 1;
	dns_message_received(segment->p, segment->part);
	return 0;
}

/* Reads a TCP segment. */
static __always_inline void dns_tcp(struct __sk_buff *skb, const struct packet *p,
				    struct bh_dns_work *work, bool sent)
{
	struct dns_segment segment = {
		.skb = skb,
		.p = p,
		.at = p->l4 + p->l4_length - p->payload,
		.length = p->payload,
		.sequence = p->sequence,
	};

	if (p->tcp_flags & TCP_SYN) {
		if (dns_stream_begins(p))
			dns_stream_begin(p, work);
		segment.sequence++;
	}
	if (!segment.length)
		return;
	segment.stream = dns_stream_at(p, dns_streams(p, dns_flow(p)), false);
	if (!segment.stream) {
		dns_count(BH_DNS_STREAM);
		return;
	}
	if (dns_segment_is_far(&segment) || dns_stream_differs(&segment))
		return;
	WRITE_ONCE(segment.stream->seen, p->now);
	if (sent)
		bpf_loop(DNS_MESSAGES, dns_one_sent, &segment, 0);
	else
		bpf_loop(DNS_MESSAGES, dns_one_received, &segment, 0);
}

/* The walk over the datagrams of a packet. The kernel may hand over several of one connection as
 * one packet (GRO, or UDP_SEGMENT of the sender): all but the last have one size. */
struct dns_datagrams {
	struct __sk_buff *skb;
	const struct packet *p;
	__u32 at; /* offset of the next one's payload in the frame */
	__u32 left; /* bytes from there on */
	__u32 size;
	bool part; /* the end of the last one is in another packet */
};

/* Loads the next datagram into work->bytes. Returns true if its end is not read, or is in another
 * packet. */
static __noinline bool dns_datagram(struct dns_datagrams *walk, struct bh_dns_work *work)
{
	__u32 length = walk->left < walk->size ? walk->left : walk->size;
	bool part = dns_loaded(work, length, dns_load(walk->skb, walk->at, work, length));

	walk->at += length;
	walk->left -= length;
	return part || walk->part;
}

/* Handle one datagram, for bpf_loop(). */
static long dns_datagram_sent(__u32 i __attribute__((unused)), struct dns_datagrams *walk)
{
	struct bh_dns_work *work = dns_work();

	if (!work)
		return 1;
	dns_datagram(walk, work);
	dns_message_sent(walk->p);
	return !walk->left;
}

static long dns_datagram_received(__u32 i __attribute__((unused)), struct dns_datagrams *walk)
{
	struct bh_dns_work *work = dns_work();
	bool part;

	if (!work)
		return 1;
	part = dns_datagram(walk, work);
	dns_message_received(walk->p, part);
	return !walk->left;
}

/* Reads the datagrams of a packet. */
static __always_inline void dns_udp(struct __sk_buff *skb, const struct packet *p, bool sent)
{
	struct dns_datagrams walk = {
		.skb = skb,
		.p = p,
		.at = p->l4 + sizeof(struct udphdr),
		.left = p->l4_length - sizeof(struct udphdr),
		.size = skb->gso_size,
		.part = p->flags & PACKET_MORE_FRAGMENTS,
	};

	if (!walk.size)
		walk.size = walk.left;
	if (sent)
		bpf_loop(DNS_MESSAGES, dns_datagram_sent, &walk, 0);
	else
		bpf_loop(DNS_MESSAGES, dns_datagram_received, &walk, 0);
}

/* Reads a packet between the endpoint of this hook and a resolver. @sent: the endpoint sends it. */
static __always_inline int dns_packet(struct __sk_buff *skb, const struct packet *p, bool sent)
{
	struct bh_dns_work *work = dns_work();

	if (!p || !work)
		return 0;
	if (p->protocol == IPPROTO_TCP) {
		dns_tcp(skb, p, work, sent);
		return 0;
	}
	if (p->l4_length >= sizeof(struct udphdr))
		dns_udp(skb, p, sent);
	return 0;
}

/* One for each hook, so that the verifier does not check in a program what only the other one
 * does. */
BPF_GLOBAL int dns_packet_sent(struct __sk_buff *skb, const struct packet *p)
{
	return dns_packet(skb, p, true);
}

BPF_GLOBAL int dns_packet_received(struct __sk_buff *skb, const struct packet *p)
{
	return dns_packet(skb, p, false);
}

/* Returns true if it is a resolver who has answered, where the node translates: anybody's Service
 * may have a resolver's address (externalIPs), and lead to any server; and where a resolver has an
 * address of the node, whoever calls the endpoint may have it behind masquerading. */
static __noinline bool dns_is_answered(struct __sk_buff *skb, struct packet *p)
{
	struct bh_translation *told;

	p->told = netfilter_ask(skb, p);
	if (p->told == TOLD_ORIGINAL) {
		dns_count(BH_DNS_UNASKED);
		return false;
	}
	told = p->told == TOLD_REPLY ? translation_answer(p) : NULL;
	if (!told || active_lookup(&at_resolvers, &told->backend))
		return true;
	dns_count(BH_DNS_BACKEND);
	return false;
}

/* Reads a packet that passes, if it may be of DNS. @hook: a constant. */
static __always_inline void dns_read_packet(struct __sk_buff *skb, struct packet *p, __u32 hook)
{
	if (p->class != PACKET_FLOW || !p->generation || !dns_is_resolvers(p))
		return;
	if (hook == BH_HOOK_FROM_ENDPOINT)
		dns_packet_sent(skb, p);
	else if (dns_is_answered(skb, p))
		dns_packet_received(skb, p);
}

#endif
