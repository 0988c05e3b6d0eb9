/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DNS over TCP: finds the messages in the segments of a connection (maps/dns.h). A message is read
 * only at its place in the stream, which is known from the SYN on: an answer may have bytes that an
 * attacker has chosen, and that look like another answer. A message that is in several segments is
 * kept until its last one, in a carry of the endpoint.
 */
#ifndef BULKHEAD_KERN_DNS_STREAM_H
#define BULKHEAD_KERN_DNS_STREAM_H

#include "dns_name.h"
#include "translation.h"

#define DNS_HEADER 12
#define DNS_MESSAGES 64 /* of a packet; the smallest answers of 1,400 bytes */
#define DNS_PREFIX 2u /* the length before each message */
#define DNS_BLOCK 64u /* bytes that are copied at a time */
#define DNS_MOST (DNS_PREFIX + DNS_BYTES)
#define DNS_GAP (1u << 20) /* bytes that may be missing; more than a window has */

/* A segment, and the walk over its messages. */
struct dns_segment {
	struct __sk_buff *skb;
	const struct packet *p;
	struct bh_stream *stream;
	__u32 at; /* offset of the payload in the frame */
	__u32 length; /* of the payload */
	__u32 sequence; /* of its first byte */
	__u32 begin; /* of the message: number of its first byte */
	bool part; /* the message's end is lost, or is not read */
};

/*
 * Returns what tells the resolver's connections of one key apart: the backend, and the port that it
 * answers to. 0: the node translates neither. An endpoint can have two at once, by a RST that only
 * the node gets; each has numbers of its own.
 */
BPF_GLOBAL __u64 dns_translated(const struct packet *p)
{
	const struct bh_translation *told = p ? translation_answer(p) : NULL;
	__u64 high, low, ports;
	const __be32 *from;

	if (!told)
		return 0;
	from = packet_address_at(p, p->from)->word;
	high = (__u64)(told->backend.word[0] ^ from[0]) << 32 | (told->backend.word[1] ^ from[1]);
	low = (__u64)(told->backend.word[2] ^ from[2]) << 32 | (told->backend.word[3] ^ from[3]);
	ports = (__u64)(told->backend_port ^ packet_port(p, p->from)) << 16 |
		(told->reply_port ^ packet_port(p, !p->from));
	return ((high * ct_seed + low) * ct_seed + ports) * ct_seed;
}

/* Returns the name of one direction of a connection; never 0. */
static __always_inline __u64 dns_flow(const struct packet *p)
{
	__u64 hash = p->hook == BH_HOOK_FROM_ENDPOINT ? ~p->hash : p->hash ^ dns_translated(p);

	return (hash & ~(__u64)BH_STREAM_FRESH) | 1;
}

static __always_inline struct bh_streams *dns_streams(const struct packet *p, __u64 flow)
{
	struct bh_question_key key = {
		.ifindex = p->ifindex,
		.bucket = (flow >> 32) & (BH_STREAM_BUCKETS - 1),
	};

	return bpf_map_lookup_elem(&bh_streams, &key);
}

/* The state of a search for a connection, or for the place of a new one. */
struct dns_ways {
	struct bh_streams *bucket;
	__u64 flow;
	__u32 now;
	__u32 at, most; /* the best place so far, and its weight */
};

#define DNS_WAY_FREE 0xfffffffeu
#define DNS_WAY_FOUND 0xffffffffu /* these are weights; else: the ticks of silence, and 1 */

/* Looks at one place, for bpf_loop(): an unrolled loop has too many paths for the verifier. */
static long dns_way(__u32 i, struct dns_ways *ways)
{
	const struct bh_stream *stream;
	__u32 weight;
	__u64 has;

	i &= BH_STREAM_WAYS - 1;
	asm volatile("" : "+r"(i));
	stream = &ways->bucket->way[i];
	has = READ_ONCE(stream->flow) & ~(__u64)BH_STREAM_FRESH;
	weight = ways->now - READ_ONCE(stream->seen) + 1;
	if (!has)
		weight = DNS_WAY_FREE;
	if (has == ways->flow)
		weight = DNS_WAY_FOUND;
	if (weight > ways->most) {
		ways->most = weight;
		ways->at = i;
	}
	return weight == DNS_WAY_FOUND;
}

/* Returns the connection's place; NULL: there is none. @create: returns the best place for it. */
static __noinline struct bh_stream *dns_stream_at(const struct packet *p, struct bh_streams *bucket,
						  bool create)
{
	struct dns_ways ways = {.bucket = bucket, .flow = dns_flow(p), .now = p->now};
	__u32 at;

	if (!bucket)
		return NULL;
	bpf_loop(BH_STREAM_WAYS, dns_way, &ways, 0);
	if (!create && ways.most != DNS_WAY_FOUND)
		return NULL;
	at = ways.at & (BH_STREAM_WAYS - 1);
	asm volatile("" : "+r"(at));
	return &bucket->way[at];
}

/* Returns true if a SYN begins a stream: the endpoint's own, or the SYN-ACK that acknowledges it.
 * Anybody may forge another one of an open connection's addresses and ports. */
static __always_inline bool dns_stream_begins(const struct packet *p)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT || p->flags & PACKET_ANSWERS;
}

/* Notes a connection, whose SYN this is. In a full bucket it replaces the one that was silent for
 * the longest time. */
static __noinline void dns_stream_begin(const struct packet *p, struct bh_dns_work *work)
{
	const __u64 flow = dns_flow(p);
	struct bh_streams *bucket = dns_streams(p, flow);
	struct bh_question_key key = {
		.ifindex = p->ifindex,
		.bucket = (flow >> 32) & (BH_STREAM_BUCKETS - 1),
	};
	struct bh_stream *stream;

	if (!bucket && dns_learner(p->ifindex)) {
		bpf_map_update_elem(&bh_streams, &key, &work->no_streams, BPF_NOEXIST);
		bucket = bpf_map_lookup_elem(&bh_streams, &key);
	}
	stream = dns_stream_at(p, bucket, true);
	if (!stream) {
		dns_count(BH_DNS_FULL);
		return;
	}
	WRITE_ONCE(stream->flow, 0);
	barrier();
	stream->begin = p->sequence + 1;
	stream->seen = p->now;
	barrier();
	WRITE_ONCE(stream->flow, flow | BH_STREAM_FRESH);
}

/*
 * Returns true if the stream's first bytes are not at the number behind its SYN. Then the SYN-ACK
 * was another connection's than the one that the endpoint has opened: a resolver may answer one SYN
 * by several numbers (SYN cookies), and the endpoint chooses one. Such a stream ends, since the
 * endpoint could have bytes of its own choice at the place where an answer is read. Who forges a
 * segment to end a stream has to guess its number. A segment that comes before the first one is
 * not read, and proves nothing.
 */
static __noinline bool dns_stream_differs(const struct dns_segment *segment)
{
	struct bh_stream *stream = segment->stream;
	const __u64 flow = dns_flow(segment->p), fresh = flow | BH_STREAM_FRESH;
	const __u32 before = READ_ONCE(stream->begin) - segment->sequence;

	if (READ_ONCE(stream->flow) != fresh || before > DNS_GAP)
		return false;
	__sync_val_compare_and_swap(&stream->flow, fresh, before ? 0 : flow);
	if (before)
		dns_count(BH_DNS_STREAM);
	return before;
}

/* ---- carries ---- */

struct dns_copy {
	__u64 *to;
	const __u64 *from;
};

/* Copies one block, for bpf_loop(). */
static long dns_block(__u32 i, struct dns_copy *copy)
{
	i = (i & (DNS_BYTES / DNS_BLOCK - 1)) * (DNS_BLOCK / sizeof(__u64));
	asm volatile("" : "+r"(i));
#pragma unroll
	for (__u32 k = 0; k < DNS_BLOCK / sizeof(__u64); k++)
		copy->to[i + k] = copy->from[i + k];
	return 0;
}

static __always_inline void dns_copy(void *to, const void *from, __u32 length)
{
	struct dns_copy copy = {.to = to, .from = from};
	__u32 blocks = (length + DNS_BLOCK - 1) / DNS_BLOCK;

	bpf_loop(blocks < DNS_BYTES / DNS_BLOCK ? blocks : DNS_BYTES / DNS_BLOCK, dns_block, &copy,
		 0);
}

/* @flow: whose it is from now on; 0: nobody's. */
static __always_inline void dns_carry_leave(struct bh_carry *carry, __u64 flow)
{
	__sync_lock_test_and_set(&carry->flow, flow); /* after all else */
}

static __always_inline struct bh_question_key dns_carry_key(const struct packet *p, __u64 flow)
{
	return (struct bh_question_key){
		.ifindex = p->ifindex,
		.bucket = (flow >> 32) & (BH_CARRIES - 1),
	};
}

/* Takes the carry of the stream's message; no other CPU has it until dns_carry_leave(). NULL: there
 * is none, or another CPU has it. @create: makes one. */
static __noinline struct bh_carry *dns_carry_take(struct dns_segment *segment,
						  struct bh_dns_work *work, bool create)
{
	const __u64 flow = dns_flow(segment->p);
	struct bh_question_key key = dns_carry_key(segment->p, flow);
	struct bh_carry *carry = bpf_map_lookup_elem(&bh_carries, &key);
	__u64 has;

	if (!carry && create) {
		bpf_map_update_elem(&bh_carries, &key, &work->no_carry, BPF_NOEXIST);
		carry = bpf_map_lookup_elem(&bh_carries, &key);
		if (!carry)
			dns_count(BH_DNS_FULL);
	}
	if (!carry)
		return NULL;
	has = READ_ONCE(carry->flow);
	if (has == BH_CARRY_TAKEN || (has != flow && !create) ||
	    __sync_val_compare_and_swap(&carry->flow, has, BH_CARRY_TAKEN) != has)
		return NULL;
	if (has == flow && carry->begin == segment->begin)
		return carry;
	if (!create) {
		dns_carry_leave(carry, has);
		return NULL;
	}
	carry->begin = segment->begin;
	carry->filled = carry->length = 0;
	return carry;
}

/* Returns the number of the message's bytes that are read, with its prefix. */
static __always_inline __u32 dns_carry_whole(const struct bh_carry *carry)
{
	const __u32 whole = DNS_PREFIX + carry->length;

	if (carry->filled < DNS_PREFIX)
		return DNS_MOST;
	return whole < DNS_MOST ? whole : DNS_MOST;
}

/* Adds the bytes of the prefix that the segment has from @offset on. Returns their number. */
static __always_inline __u32 dns_carry_prefix(const struct dns_segment *segment,
					      struct bh_carry *carry, __u32 offset)
{
	__u32 n = 0;

#pragma unroll
	for (int i = 0; i < (int)DNS_PREFIX; i++) {
		__u8 byte;

		if (carry->filled >= DNS_PREFIX || offset + n >= segment->length ||
		    bpf_skb_load_bytes(segment->skb, segment->at + offset + n, &byte, 1))
			continue;
		carry->length = carry->length << 8 | byte;
		carry->filled++;
		n++;
	}
	return n;
}

/* Adds the part of the message that the segment has from @offset on. The message is in work->bytes
 * then, as far as it is here. Returns true if all of it is. */
static __noinline bool dns_carry_add(const struct dns_segment *segment, struct bh_carry *carry,
				     struct bh_dns_work *work, __u32 offset)
{
	__u32 had, at, n;

	offset += dns_carry_prefix(segment, carry, offset);
	had = carry->filled;
	if (had < DNS_PREFIX)
		return false;
	n = dns_carry_whole(carry) - had;
	if (n > segment->length - offset)
		n = segment->length - offset;
	dns_copy(work->bytes, carry->bytes, had - DNS_PREFIX);
	if (!n || n > DNS_BYTES)
		return !n && had >= dns_carry_whole(carry);
	/* 6.1's verifier learns from a mask that a number is not 0, and not from a comparison. */
	at = (had - DNS_PREFIX) & (DNS_BYTES - 1);
	n = (n - 1) & (DNS_BYTES - 1);
	asm volatile("" : "+r"(at), "+r"(n));
	n++;
	if (bpf_skb_load_bytes(segment->skb, segment->at + offset, work->bytes + at, n))
		return false;
	if (had + n < dns_carry_whole(carry))
		dns_copy(carry->bytes, work->bytes, had + n - DNS_PREFIX);
	carry->filled = had + n;
	return had + n >= dns_carry_whole(carry);
}

/* ---- messages ---- */

/* Loads @length bytes of a message. Returns how many are read. */
static __always_inline __u32 dns_load(struct __sk_buff *skb, __u32 at, struct bh_dns_work *work,
				      __u32 length)
{
	if (length > DNS_BYTES)
		length = DNS_BYTES;
	/* clang would drop the test, whose result it knows. 6.1's verifier does not know it, and
	 * learns nothing from a comparison with 0. */
	asm volatile("" : "+r"(length));
	if (length < DNS_HEADER || length > DNS_BYTES ||
	    bpf_skb_load_bytes(skb, at, work->bytes, length))
		return 0;
	return length;
}

/* Notes what work->bytes have: @has bytes of @length. */
static __always_inline bool dns_loaded(struct bh_dns_work *work, __u32 length, __u32 has)
{
	if (length > DNS_BYTES)
		dns_count(BH_DNS_LONG);
	work->length = has;
	return has < length;
}

/* Ends the stream's message, of which @has bytes are in work->bytes. Returns false if another CPU
 * did. */
static __always_inline bool dns_next_ends(struct dns_segment *segment, struct bh_dns_work *work,
					  __u32 length, __u32 has)
{
	const __u32 begin = segment->begin, next = begin + DNS_PREFIX + length;

	segment->part = dns_loaded(work, length, has);
	return __sync_val_compare_and_swap(&segment->stream->begin, begin, next) == begin;
}

/* A segment before this one is lost, or comes later, and the message that it begins with is not
 * known. Returns false. */
static __always_inline bool dns_next_waits(void)
{
	dns_count(BH_DNS_STREAM);
	return false;
}

/* Returns true if a segment follows what its receiver has acknowledged: so it is no forged one. */
static __noinline bool dns_segment_follows(const struct packet *p)
{
	const struct bh_ct *ct = p->found ? table_slot(p->at) : ct_lookup(p);

	return ct && ct_is_of(p, ct) &&
	       ct_follows(p->sequence, READ_ONCE(*(p->from ? &ct->number[0] : &ct->number[1])));
}

/*
 * Returns true if the segment is so far behind the stream's message that more is missing than may
 * come late. If it is its sender's, the messages of the connection are not found any more, and the
 * stream ends.
 */
static __always_inline bool dns_segment_is_far(const struct dns_segment *segment)
{
	const __u32 ahead = segment->sequence - READ_ONCE(segment->stream->begin);

	if ((__s32)ahead <= (__s32)DNS_GAP)
		return false;
	dns_count(BH_DNS_STREAM);
	if (dns_segment_follows(segment->p))
		WRITE_ONCE(segment->stream->flow, 0);
	return true;
}

/* Goes on with a message that is in several segments. Returns true if the message is in
 * work->bytes. */
static __noinline bool dns_next_carried(struct dns_segment *segment, struct bh_dns_work *work,
					bool begins)
{
	struct bh_carry *carry = dns_carry_take(segment, work, begins);
	const __u64 flow = dns_flow(segment->p);
	__u32 missing, length, has;

	if (!carry)
		return !begins && dns_next_waits();
	missing = carry->begin + carry->filled - segment->sequence;
	if ((__s32)missing >= 0) {
		if (missing >= segment->length || !dns_carry_add(segment, carry, work, missing)) {
			dns_carry_leave(carry, flow);
			return false;
		}
	} else if (carry->filled < DNS_PREFIX) {
		dns_carry_leave(carry, flow);
		return dns_next_waits();
	} else {
		/* a segment is lost: the records of the message's begin count */
		dns_copy(work->bytes, carry->bytes, carry->filled - DNS_PREFIX);
	}
	length = carry->length;
	has = carry->filled - DNS_PREFIX;
	dns_carry_leave(carry, 0);
	return dns_next_ends(segment, work, length, has);
}

/* Loads the next message of the segment into work->bytes. Returns false if there is none. */
static __noinline bool dns_next(struct dns_segment *segment, struct bh_dns_work *work)
{
	__be16 prefix;
	__u32 offset, left, length, at;

	segment->begin = READ_ONCE(segment->stream->begin);
	offset = segment->begin - segment->sequence;
	if ((__s32)offset < 0)
		return dns_next_carried(segment, work, false);
	if (offset >= segment->length)
		return false;
	left = segment->length - offset;
	at = segment->at + offset;
	if (left < DNS_PREFIX || bpf_skb_load_bytes(segment->skb, at, &prefix, sizeof(prefix)))
		return dns_next_carried(segment, work, true);
	length = bpf_ntohs(prefix);
	if (left < DNS_PREFIX + length && left < DNS_MOST)
		return dns_next_carried(segment, work, true);
	return dns_next_ends(segment, work, length,
			     dns_load(segment->skb, at + DNS_PREFIX, work, length));
}

#endif
