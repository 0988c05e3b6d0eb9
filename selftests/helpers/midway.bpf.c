// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rest of what a program does, from a point on at which another CPU has changed the table:
 * between two instructions of a program no test can make the other CPU act. Each program here finds
 * the table as the other CPU leaves it, and goes on from that point.
 */
#pragma clang diagnostic ignored "-Wunused-function" /* what the points do not call */

#include "build.h"
#include "skb.h"
#include "ask_kernel.h"
#include "garbage_collector.h"
#include "connection_new.h"
#include "flow_cache.h"

/* Before each store of connection_again.h, looks whether another CPU would find that the connection
 * has timed out. */
static bool midway_lapsed;
#undef WRITE_ONCE
#define WRITE_ONCE(x, value)                                            \
	({                                                              \
		midway_lapsed |= table_lapsed(ct, p->protocol, p->now); \
		*(volatile __typeof__(x) *)&(x) = (value);              \
	})
#include "connection_again.h"
#undef WRITE_ONCE
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

#include "tcp.h"

char LICENSE[] SEC("license") = "GPL";

#define MIDWAY_NOT -1 /* the packet, or its entry, is not as the program needs it */

BPF_GLOBAL int midway_parse(struct __sk_buff *skb, struct packet *p)
{
	return p ? parse_packet(skb, p) : BH_DROP_TRUNCATED;
}

static __always_inline bool midway_begins(struct __sk_buff *skb, struct packet *p)
{
	*p = (struct packet){
		.hook = BH_HOOK_FROM_ENDPOINT,
		.generation = packet_generation(),
		.now = ct_now(),
		.ifindex = skb->ifindex,
		.ingress = skb->ingress_ifindex,
	};
	if (midway_parse(skb, p))
		return false;
	ct_hash(p);
	return true;
}

/* Returns the packet's connection. NULL: the packet cannot be parsed, or has none. */
static __always_inline struct bh_ct *midway_finds(struct __sk_buff *skb, struct packet *p)
{
	return midway_begins(skb, p) ? ct_find(p) : NULL;
}

/* Claims and fills a slot, as a program does that has not found the packet's connection. */
static __always_inline __u32 midway_fill(const struct packet *p)
{
	__u32 place = table_claim((const struct table_key *)p, p->ifindex);

	if (place)
		ct_fill(p, place, BH_CT_HALF);
	return place;
}

/* Two programs have filled a slot each for the same connection. One makes its entry known, then the
 * other one. */
SEC("tc")
int midway_commit_in_turn(struct __sk_buff *skb)
{
	__u32 first, second;
	struct packet p;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	first = midway_fill(&p);
	second = midway_fill(&p);
	if (!first || !second)
		return MIDWAY_NOT;
	ct_commit(&p, first, 0);
	ct_commit(&p, second, 0);
	return 0;
}

/* The same, and each step of both is over before the next one. */
SEC("tc")
int midway_commit_at_once(struct __sk_buff *skb)
{
	__u32 first, second, first_yields, second_yields;
	const struct table_key *key;
	struct packet p;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	first = midway_fill(&p);
	second = midway_fill(&p);
	if (!first || !second)
		return MIDWAY_NOT;
	key = table_key(&p);
	first_yields = table_propose(key, first);
	second_yields = table_propose(key, second);
	if (first_yields)
		first_yields = table_contend(key, first, 0);
	if (second_yields)
		second_yields = table_contend(key, second, 0);
	table_confirm(key, first, first_yields);
	table_confirm(key, second, second_yields);
	return 0;
}

/* A program has found a half-open connection, and another CPU has opened it. Returns the reason. */
SEC("tc")
int midway_complete(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	return ct ? tcp_complete(&p, ct) : MIDWAY_NOT;
}

/* A SYN has found the entry that a copy of it has made, and another CPU has given the entry's slot
 * to another connection. Returns the reason. */
SEC("tc")
int midway_open_beside_lost(struct __sk_buff *skb)
{
	struct connection c;
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	if (!ct || connection_closed(&p, &c))
		return MIDWAY_NOT;
	table_remove(table_key(&p));
	ct->number[0] = ct->number[1] = 0;
	return tcp_open_beside(&p, &c, ct);
}

/* A program has found the packet's entry. The slot has a connection of other addresses and
 * interfaces by now. Returns the reason, or that to drop if the hook wants an entry of its own. */
SEC("tc")
int midway_again_anothers(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *ct;
	int reason;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	ct->verdict[BH_EGRESS] ^= ~BH_CT_FLAGS;
	ct->end[0].ifindex++;
	ct->end[1].ifindex++;
	reason = connection_again(&p, ct);
	return reason == CONNECTION_OF_OTHERS ? BH_DROP_NO_CONNECTION : reason;
}

/* A program has found the entry that a SYN-ACK answers. The slot has the packet's connection by
 * now, whose initiator has the place of the end that answers. */
SEC("tc")
int midway_answer_anothers(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	tcp_answered(ct, ~ct_bound(&p, ct->end) & ~BH_CT_FLAGS, p.from, p.sequence + 99999);
	return 0;
}

/* Notes the packet in its connection's entry. Returns 0 if the connection has not timed out at any
 * moment of that. */
SEC("tc")
int midway_touch(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *ct;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	ct = ct_lookup(&p);
	if (!ct)
		return MIDWAY_NOT;
	midway_lapsed = false;
	connection_touch(&p, ct);
	return midway_lapsed ? BH_DROP_NO_CONNECTION : 0;
}

/* The garbage collector has found that the time of a connection was over, and the connection has
 * gone on. */
SEC("tc")
int midway_free(struct __sk_buff *skb)
{
	struct bh_ct_bucket *bucket;
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 at;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	at = table_at(table_key(&p)) - 1;
	bucket = table_bucket(at / BH_CT_SLOTS);
	slot = table_slot_of(at / BH_CT_SLOTS, at);
	if (!bucket || !slot)
		return MIDWAY_NOT;
	gc_free(&bucket->tag[at % BH_CT_SLOTS], bh_ct_slot_tag(p.hash), slot, table_now(),
		SWEEP_WHOLE);
	return 0;
}

/* A program has chosen the connection of a slot to be replaced. The slot has the packet's by now,
 * which has just begun; or, if @chosen, has had it all the time. */
static __always_inline int midway_occupy(struct __sk_buff *skb, bool chosen)
{
	__u64 victim = (__u64)TABLE_COST(COST_CLOSED) << 32;
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 at;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	at = table_at(table_key(&p));
	slot = at ? (struct bh_ct_slot *)table_slot(at) : NULL;
	if (!slot)
		return MIDWAY_NOT;
	if (chosen)
		victim = (__u64)table_cost(slot, table_now()) << 32;
	if (table_occupy(victim | at, p.ifindex) == TABLE_SEIZED)
		table_vacate(at, p.ifindex);
	return 0;
}

SEC("tc")
int midway_occupy_chosen(struct __sk_buff *skb)
{
	return midway_occupy(skb, true);
}

SEC("tc")
int midway_occupy_newer(struct __sk_buff *skb)
{
	return midway_occupy(skb, false);
}

/* Sets @c to the packet's connection or, if @another, to one of other interfaces, whose slot the
 * packet's connection has got since a program found it there. */
static __always_inline void midway_connection(const struct packet *p, const struct bh_ct *ct,
					      struct connection *c, bool another)
{
	*c = (struct connection){.initiator = p->from};
	c->found.end[BH_EGRESS].ifindex = p->from ? ct->end[1].ifindex : ct->end[0].ifindex;
	c->found.end[BH_INGRESS].ifindex = p->from ? ct->end[0].ifindex : ct->end[1].ifindex;
	c->found.end[BH_INGRESS].ifindex += another;
}

/* A program has evaluated the responder's end, looked whose the entry is, and stores the word. */
static __always_inline int midway_store(struct __sk_buff *skb, bool another)
{
	struct connection c;
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	midway_connection(&p, ct, &c, another);
	connection_store(&p, ct, &c, &ct->verdict[BH_INGRESS], 0,
			 bh_ct_word(p.generation, connection_tag(&p, &c), BH_CT_ALLOW));
	return 0;
}

SEC("tc")
int midway_store_own(struct __sk_buff *skb)
{
	return midway_store(skb, false);
}

SEC("tc")
int midway_store_anothers(struct __sk_buff *skb)
{
	return midway_store(skb, true);
}

/* A program evaluates the responder's end of a connection that has lost the slot. */
SEC("tc")
int midway_evaluate_anothers(struct __sk_buff *skb)
{
	struct connection c;
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	midway_connection(&p, ct, &c, true);
	return connection_word(&p, ct, &c, BH_INGRESS, true, false);
}
