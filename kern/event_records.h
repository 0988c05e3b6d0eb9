/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, rule hits and the event of a packet that was evaluated. */
#ifndef BULKHEAD_KERN_EVENT_RECORDS_H
#define BULKHEAD_KERN_EVENT_RECORDS_H

#include "packet.h"
#include "reader.h"
#include "tally.h"
#include "tunables.h"
#include "maps/counter.bpf.h"
#include "maps/rule_hit.bpf.h"

/* Returns the direction in which the endpoint of the hook sees the packet. */
static __always_inline __u32 events_direction(__u32 hook)
{
	return hook == BH_HOOK_FROM_ENDPOINT || hook == BH_HOOK_LEAVE ? BH_EGRESS : BH_INGRESS;
}

static __always_inline void events_count(__u32 reason, __u32 length, __u32 direction, bool audit)
{
	struct bh_counter *counter = bpf_map_lookup_elem(&bh_counters, &reason);

	direction &= 1;
	if (!counter)
		return;
	if (unlikely(audit)) {
		counter->audit_packets[direction]++;
		counter->audit_bytes[direction] += length;
	} else {
		counter->packets[direction]++;
		counter->bytes[direction] += length;
	}
}

/* Counts the rule that decided. Rule 0 stands for isolation, if no rule allowed the packet. */
static __always_inline void events_rule(__u32 verdict)
{
	__u32 rule = bh_verdict_rule(verdict);
	__u32 place = rule >> BH_RULE_HITS_SHIFT, index = rule & (BH_RULE_HITS - 1);
	struct bh_rule_hit *hit;
	void *hits;

	if (!rule && bh_verdict_allow(verdict))
		return;
	hits = bpf_map_lookup_elem(&at_rule_hits, &place);
	hit = hits ? bpf_map_lookup_elem(hits, &index) : NULL;
	if (hit)
		hit->count++;
}

/* Reason and audit in one number: a BPF function has at most five arguments. */
#define EVENTS_SAID(reason, audit) ((reason) | ((audit) ? 1u << 8 : 0))

/* The words of a record after its time. Words are copied and compared whole: fields one by one cost
 * a drop 3 ns more. */
enum {
	EVENT_SOURCE,
	EVENT_DESTINATION = 2,
	EVENT_PORTS = 4, /* and protocol, hook, reason and flags */
	EVENT_VERDICTS,
	EVENT_PLACE, /* generation and interface */
	EVENT_LENGTH, /* and `more` */
};
_Static_assert(offsetof(struct bh_event, source) == 8 &&
		       offsetof(struct bh_event, source_port) == 8 + EVENT_PORTS * 8 &&
		       offsetof(struct bh_event, verdict) == 8 + EVENT_VERDICTS * 8 &&
		       offsetof(struct bh_event, generation) == 8 + EVENT_PLACE * 8 &&
		       offsetof(struct bh_event, length) == 8 + EVENT_LENGTH * 8,
	       "the words of struct bh_event");

/* Writes the words before EVENT_VERDICTS: what the packet is, and what became of it. */
static __always_inline void events_identify(__u64 *words, const struct packet *p, __u32 said)
{
	const __u64 *from = p->from ? p->key.addr[1] : p->key.addr[0];
	const __u64 *to = p->from ? p->key.addr[0] : p->key.addr[1];
	__u32 flags = (said >> 8 & 1 ? BH_EVENT_AUDIT : 0) | (p->reply ? BH_EVENT_REPLY : 0) |
		      (p->version ? 0 : BH_EVENT_NO_PACKET);

	words[EVENT_SOURCE] = from[0];
	words[EVENT_SOURCE + 1] = from[1];
	words[EVENT_DESTINATION] = to[0];
	words[EVENT_DESTINATION + 1] = to[1];
	words[EVENT_PORTS] = *(const __u32 *)p->port | (__u64)p->protocol << 32 |
			     (__u64)p->hook << 40 | (__u64)(said & 255) << 48 | (__u64)flags << 56;
}

/* Fills a record but for its time. @words: as events_identify() writes them. */
static __always_inline void events_fill(struct bh_event *event, const struct packet *p,
					const __u64 *words)
{
	__u64 *to = (__u64 *)&event->source;

	to[EVENT_SOURCE] = words[EVENT_SOURCE];
	to[EVENT_SOURCE + 1] = words[EVENT_SOURCE + 1];
	to[EVENT_DESTINATION] = words[EVENT_DESTINATION];
	to[EVENT_DESTINATION + 1] = words[EVENT_DESTINATION + 1];
	to[EVENT_PORTS] = words[EVENT_PORTS];
	to[EVENT_VERDICTS] = *(const __u64 *)p->verdict;
	to[EVENT_PLACE] = p->generation | (__u64)p->ifindex << 32;
	to[EVENT_LENGTH] = p->length;
}

/* It keeps records as events_fill() makes them. */
#include "past.h"

/*
 * Writes a record for the reader at @place, if its filter matches and @budget allows the record.
 * The second half of a ring is for endpoints that have spent less than half of their budget, so
 * that a late reader gets the few events of one endpoint in spite of the many of others.
 */
BPF_GLOBAL int events_tell(const struct packet *p, struct bh_reader *reader,
			   struct bh_budget *budget, __u32 said, __u32 place)
{
	__u64 time, words[EVENT_VERDICTS];
	struct bh_written *written;
	struct bh_event *event;
	void *ring;

	if (!p || !reader || !reader_matches(&reader->filter, p, said & 255, said >> 8 & 1, place))
		return 0;
	if (budget && !tally_pays(budget))
		return 0;
	written = bpf_map_lookup_elem(&bh_written, &place);
	if (!written)
		return 0;
	time = reader_time(written);
	if (READ_ONCE(reader->lease) < time)
		return reader_remove(place);
	ring = bpf_map_lookup_elem(&bh_rings, &place);
	if (!ring)
		return 0;
	if (budget && tally_spends(budget) && reader_lags(ring)) {
		budget->suppressed++;
		return 0;
	}
	event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&reader->lost, 1);
		return 0;
	}
	event->time = time;
	events_identify(words, p, said);
	events_fill(event, p, words);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	written->records++;
	return 0;
}

/* Returns the place of the interface whose budget pays for the record: the place of the endpoint
 * of this node which sent the packet, else @place. Sets *@role to the direction in which that
 * endpoint caused it. */
static __always_inline __u32 events_cause(const struct packet *p, __u32 place, __u32 *role)
{
	__u32 from;

	*role = p->hook == BH_HOOK_TO_ENDPOINT || p->hook == BH_HOOK_UPLINK ? BH_INGRESS
									    : BH_EGRESS;
	if (p->hook == BH_HOOK_PORT)
		return tally_place(p->ifindex);
	if (p->hook != BH_HOOK_TO_ENDPOINT || !p->ingress || p->ingress == p->ifindex)
		return place;
	from = tally_place(p->ingress);
	if (!tally_is_endpoints(from))
		return place;
	*role = BH_EGRESS;
	return from;
}

/* Writes the record for each reader. @place: that of the interface that the packet is about. */
static __always_inline int events_write_all(const struct packet *p, __u32 place, __u32 said)
{
	struct bh_readers *readers = reader_all();
	__u32 role, cause = events_cause(p, place, &role);
	struct bh_tally *tally = tally_at(cause);
	__u64 active;

	if (!readers || !event_rate)
		return 0;
	if (tally && !tally_samples(role ? &tally->sample[1] : &tally->sample[0]))
		return 0;
	active = READ_ONCE(readers->active);
	for (__u32 i = 0; i < BH_READERS && active; i++, active >>= 1) {
		struct bh_budget *budget = NULL;

		if (tally)
			budget = role ? &tally->budget[1][i] : &tally->budget[0][i];
		if (active & 1)
			events_tell(p, &readers->reader[i], budget, said, i);
	}
	return 0;
}

/* Returns true if isolation denies the packet: the policy of the end at this hook has no rule that
 * matches. */
static __always_inline bool events_isolated(const struct packet *p, __u32 reason, __u32 direction)
{
	__u32 verdict = direction ? p->verdict[1] : p->verdict[0];

	/* No rule of this tier denies, and an audit record may stand in the rule's place. */
	return reason == (direction ? BH_DROP_EGRESS : BH_DROP_INGRESS) && verdict &&
	       !bh_verdict_allow(verdict) && bh_verdict_tier(verdict) == BH_TIER_NETWORK_POLICY;
}

/* Counts and reports a packet that is dropped or, with @audit, would be dropped without audit.
 * @owner: the interface of the endpoint that the packet is about; 0: that of the hook. */
BPF_GLOBAL int events_drop(const struct packet *p, __u32 reason, __u32 audit, __u32 owner)
{
	struct bh_tally *tally;
	__u32 direction, place;

	if (!p)
		return 0;
	direction = events_direction(p->hook);
	events_count(reason, p->length, direction, audit);
	place = tally_place(owner ? owner : p->ifindex);
	tally = tally_at(place);
	direction &= 1;
	if (tally && !audit) {
		tally->packets[direction]++;
		tally->bytes[direction] += p->length;
	}
	if (tally && events_isolated(p, reason, direction))
		tally->isolated[direction]++;
	past_add(p, EVENTS_SAID(reason, audit), place);
	if (reader_any())
		events_write_all(p, place, EVENTS_SAID(reason, audit));
	return 0;
}

BPF_GLOBAL int events_open(const struct packet *p)
{
	if (p)
		events_write_all(p, tally_place(p->ifindex), EVENTS_SAID(BH_PASS_NEW, 0));
	return 0;
}

/* Reports a connection that opens. */
static __always_inline void events_opened(const struct packet *p)
{
	if (event_allow && reader_any())
		events_open(p);
}

#endif
