// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rest of what a program does, from a point on at which another CPU has changed the table:
 * between two instructions of a program no test can make the other CPU act. Each program here finds
 * the table as the other CPU leaves it, and goes on from that point.
 */
#pragma clang diagnostic ignored "-Wunused-function" /* what the points do not call */

#include "build.h"
#include "skb.h"
#include "share.h"

/* Before each swap and each store of these two files, another CPU handles a packet of
 * midway_watched(). */
BPF_GLOBAL int midway_packet(void);
#undef WRITE_ONCE
#define WRITE_ONCE(x, value)                               \
	({                                                 \
		midway_packet();                           \
		*(volatile __typeof__(x) *)&(x) = (value); \
	})
#define __sync_val_compare_and_swap(at, was, now)          \
	({                                                 \
		midway_packet();                           \
		__sync_val_compare_and_swap(at, was, now); \
	})
#include "conntrack_table.h"
#include "garbage_collector.h"
#undef __sync_val_compare_and_swap
#undef WRITE_ONCE
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

#include "ask_kernel.h"
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

#include "icmp.h"
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

static struct table_key midway_key; /* of the watched connection */
static bool midway_watches, midway_missed;

/* From now on, another CPU's packets open the connection of the key and look for it. */
static __always_inline void midway_watch(const struct packet *p)
{
	midway_key.key = p->key;
	midway_key.hash = p->hash;
	midway_missed = false;
	midway_watches = true;
}

/* Returns 0 if each of these packets has found the connection. */
static __always_inline int midway_watched(void)
{
	midway_watches = false;
	return midway_missed ? BH_DROP_NO_CONNECTION : 0;
}

BPF_GLOBAL int midway_packet(void)
{
	struct bh_ct *ct = midway_watches ? table_find(&midway_key) : NULL;

	midway_missed |= midway_watches && !ct;
	if (!ct)
		return 0;
	ct->seen = table_now();
	__sync_fetch_and_and(&ct->state, ~BH_CT_HALF);
	return 0;
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

/* Names have allowed what the end that the entry calls the initiator would open, and the entry is
 * found to be of others. Returns 0 if that counts no more for a key of the hook's own, under which
 * the packet's sender is the initiator. */
SEC("tc")
int midway_ask_of_others(struct __sk_buff *skb)
{
	struct packet p;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	p.named = NAMED_ALLOWS;
	p.lives = true;
	ask_kernel(skb, &p, CONNECTION_OF_OTHERS);
	return p.named || p.lives ? BH_DROP_EGRESS : 0;
}

/* Names have allowed what an entry's initiator has opened, and another CPU has removed the entry
 * since. Returns 0 if they count for a call of that end, and not for one of the other end. */
SEC("tc")
int midway_names_of_peer(struct __sk_buff *skb)
{
	struct connection c = {.found.denied[BH_EGRESS] = BH_DROP_EGRESS};
	struct packet p;
	int reason;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	c.found.end[BH_EGRESS].proven = END_NAMES;
	p.named = NAMED_ALLOWS;
	p.calls = !p.from;
	c.initiator = p.from;
	if (connection_name(&p, &c) != CONNECTION_ASKS_NAMES)
		return BH_DROP_EGRESS;
	p.calls = p.from;
	c.found.reason = 0;
	reason = connection_name(&p, &c);
	return reason ? reason : c.found.denied[BH_EGRESS];
}

#define MIDWAY_IPV4(address)                                        \
	{                                                           \
		{                                                   \
			0, 0, bpf_htonl(0xffff), bpf_htonl(address) \
		}                                                   \
	}

/* Of a host outside and of C (lib/packet.c), by IP version. */
static const struct bh_addr midway_callers[2][2] = {
	{MIDWAY_IPV4(0xc6336409),
	 {{bpf_htonl(0x20010db8), bpf_htonl(0x00090000), 0, bpf_htonl(9)}}},
	{MIDWAY_IPV4(0x0a010003), {{bpf_htonl(0xfd000001), 0, 0, bpf_htonl(3)}}},
};

/* An endpoint sends an ICMP error about a call of the node, by an address and ports that are, to
 * the kernel's conntrack, those of a caller behind the node. Returns the reason. */
static __always_inline int midway_error(struct __sk_buff *skb, int caller)
{
	__u32 zero = 0;
	struct bh_translation *told = bpf_map_lookup_elem(&bh_translation, &zero);
	struct packet p;
	struct bh_ct *ct;

	if (!told || !midway_begins(skb, &p) || icmp_read_quoted(skb, &p))
		return MIDWAY_NOT;
	icmp_turn(&p);
	ct = ct_find(&p);
	if (!ct)
		return MIDWAY_NOT;
	ct->verdict[BH_EGRESS] |= BH_CT_ASKS;
	told->initiator = p.version == 4 ? midway_callers[caller][0] : midway_callers[caller][1];
	told->initiator_port = packet_port(&p, !p.from);
	told->packet = translation_packet(&p);
	p.told = TOLD_REPLY;
	return icmp_connection(&p);
}

SEC("tc")
int midway_error_to_world(struct __sk_buff *skb)
{
	return midway_error(skb, 0);
}

SEC("tc")
int midway_error_to_c(struct __sk_buff *skb)
{
	return midway_error(skb, 1);
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

/* A copy of a SYN-ACK has found no connection of its ports: another CPU ends the handshake of the
 * SYN that waits, and puts its connection there. Returns the reason. */
SEC("tc")
int midway_answer_opened(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *waiting;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	waiting = ct_find_waiting(&p);
	if (!waiting)
		return MIDWAY_NOT;
	__sync_fetch_and_and(&waiting->state, ~BH_CT_HALF);
	return tcp_answer(&p, NULL);
}

/* The packet's FIN is noted by a program that has read the state before the other end's FIN came,
 * which another CPU has noted since. */
SEC("tc")
int midway_fin_crosses(struct __sk_buff *skb)
{
	struct packet p;
	struct bh_ct *ct;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	connection_touch_tcp(&p, ct, READ_ONCE(ct->state) & ~BH_CT_FINS);
	return 0;
}

/* Sets *@tag and *@slot to those of the packet's connection. Returns its place; 0: there is none.
 */
static __always_inline __u32 midway_slot(struct __sk_buff *skb, struct packet *p, __u32 **tag,
					 struct bh_ct_slot **slot)
{
	__u32 at;

	if (!midway_begins(skb, p))
		return 0;
	at = table_at(table_key(p));
	*tag = at ? table_tag(at) : NULL;
	*slot = at ? (struct bh_ct_slot *)table_slot(at) : NULL;
	return *tag && *slot ? at : 0;
}

/* The garbage collector has found that the time of a connection was over, and the connection has
 * gone on. */
SEC("tc")
int midway_free(struct __sk_buff *skb)
{
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 *tag;

	if (!midway_slot(skb, &p, &tag, &slot))
		return MIDWAY_NOT;
	gc_free(tag, slot, table_now(), SWEEP_WHOLE);
	return 0;
}

/* Half-open connections are over then, and open ones of TCP are not. */
#define MIDWAY_AHEAD SECONDS(1000)

/* The garbage collector finds that the time of a half-open connection is over, and the connection
 * goes on at each moment from then on. Returns 0 if each of its packets finds it. */
SEC("tc")
int midway_free_amid_packets(struct __sk_buff *skb)
{
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 *tag;

	if (!midway_slot(skb, &p, &tag, &slot))
		return MIDWAY_NOT;
	midway_watch(&p);
	gc_slot(tag, slot, table_now() + MIDWAY_AHEAD, SWEEP_WHOLE);
	return midway_watched();
}

/* The same of a connection that is chosen to be replaced. */
SEC("tc")
int midway_occupy_amid_packets(struct __sk_buff *skb)
{
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 *tag, at;
	__u64 victim;

	at = midway_slot(skb, &p, &tag, &slot);
	if (!at)
		return MIDWAY_NOT;
	victim = (__u64)table_cost(slot, slot->ct.state, table_now()) << 32;
	midway_watch(&p);
	if (table_occupy(victim | at, p.ifindex) == TABLE_SEIZED)
		table_vacate(at, p.ifindex);
	return midway_watched();
}

/* A program is inserting a connection, and others look for one to replace, or to collect. Returns 0
 * if they leave it alone. */
SEC("tc")
int midway_insert_amid_others(struct __sk_buff *skb)
{
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 place, *tag;
	__u64 victim;

	if (!midway_begins(skb, &p))
		return MIDWAY_NOT;
	place = midway_fill(&p);
	slot = place ? (struct bh_ct_slot *)table_slot(place) : NULL;
	tag = place ? table_tag(place) : NULL;
	if (!slot || !tag)
		return MIDWAY_NOT;
	table_propose(table_key(&p), place);
	victim = table_victim((place - 1) / BH_CT_SLOTS, p.ifindex, TABLE_ALL);
	gc_slot(tag, slot, table_now() + MIDWAY_AHEAD, SWEEP_WHOLE);
	table_confirm(table_key(&p), place, 0);
	return victim < TABLE_KEPT ? BH_DROP_NO_CONNECTION : 0;
}

/* A program has chosen the connection of a slot to be replaced. The slot has the packet's by now,
 * which has just begun; or, if @chosen, has had it all the time. */
static __always_inline int midway_occupy(struct __sk_buff *skb, bool chosen)
{
	__u64 victim = (__u64)TABLE_COST(COST_CLOSED) << 32;
	struct bh_ct_slot *slot;
	struct packet p;
	__u32 *tag, at;

	at = midway_slot(skb, &p, &tag, &slot);
	if (!at)
		return MIDWAY_NOT;
	if (chosen)
		victim = (__u64)table_cost(slot, slot->ct.state, table_now()) << 32;
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
	return connection_word(&p, ct, &c, BH_INGRESS, WORD_EVALUATES);
}

/* The same of a connection that has moved, whose words had another tag before. */
SEC("tc")
int midway_evaluate_moved(struct __sk_buff *skb)
{
	struct connection c;
	struct packet p;
	struct bh_ct *ct;
	__u32 former;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	midway_connection(&p, ct, &c, true);
	former = ct_bound(&p, ct->end) ^ 1 << BH_CT_TAG_SHIFT;
	return connection_word(&p, ct, &c, BH_INGRESS, WORD_EVALUATES | WORD_MOVED | former);
}

/* An end of the packet's connection has become an endpoint's, and a program has found the entry.
 * Returns 0 if the entry gets the endpoint's interface, unless another connection has got the slot
 * since, or it is being freed. */
SEC("tc")
int midway_move(struct __sk_buff *skb)
{
	struct connection c;
	struct packet p;
	struct bh_ct *ct;
	__u32 ifindex, state;
	bool moved;

	ct = midway_finds(skb, &p);
	if (!ct)
		return MIDWAY_NOT;
	midway_connection(&p, ct, &c, false);
	state = table_state(ct);
	ifindex = ct->end[0].ifindex;
	ct->end[0].ifindex = 0;
	connection_move(&p, ct, &c, state - BH_CT_INCARNATION);
	moved = ct->end[0].ifindex;
	connection_move(&p, ct, &c, state | BH_CT_GONE);
	moved |= ct->end[0].ifindex;
	__sync_fetch_and_or(&ct->state, BH_CT_GONE);
	connection_move(&p, ct, &c, state);
	moved |= ct->end[0].ifindex;
	__sync_fetch_and_and(&ct->state, ~BH_CT_GONE);
	connection_move(&p, ct, &c, state);
	return moved || ct->end[0].ifindex != ifindex ? BH_DROP_NO_CONNECTION : 0;
}
