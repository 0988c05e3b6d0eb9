/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, rule hits, the event of a packet that was evaluated, and the last drops. */
#ifndef BULKHEAD_KERN_EVENT_RECORDS_H
#define BULKHEAD_KERN_EVENT_RECORDS_H

#include "packet.h"
#include "reader.h"
#include "tally.h"
#include "tunables.h"
#include "maps/counter.bpf.h"
#include "maps/past.bpf.h"
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

/* Returns the place of a rule's count that is not in the first map. Not inline: it is written out
 * for each evaluation, and each lookup takes the kernel time of a load. */
static __noinline struct bh_rule_hit *events_rule_far(__u32 rule)
{
	__u32 place = rule >> BH_RULE_HITS_SHIFT, index = rule & (BH_RULE_HITS - 1);
	void *hits = bpf_map_lookup_elem(&at_rule_hits, &place);

	return hits ? bpf_map_lookup_elem(hits, &index) : NULL;
}

/* Counts the rule that decided. Rule 0 stands for isolation, if no rule allowed the packet. */
static __always_inline void events_rule(__u32 verdict)
{
	__u32 rule = bh_verdict_rule(verdict);
	struct bh_rule_hit *hit;

	if (!rule && bh_verdict_allow(verdict))
		return;
	if (likely(rule < BH_RULE_HITS)) /* the kernel inlines the lookup in a map that it knows */
		hit = bpf_map_lookup_elem(&bh_rule_hits, &rule);
	else
		hit = events_rule_far(rule);
	if (hit)
		hit->count++;
}

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

/* Fills a record of the packet. */
static __always_inline void events_fill(struct bh_event *event, const struct packet *p,
					__u32 reason, bool audit)
{
	const __u64 *from = p->from ? p->key.addr[1] : p->key.addr[0];
	const __u64 *to = p->from ? p->key.addr[0] : p->key.addr[1];
	__u32 flags = (audit ? BH_EVENT_AUDIT : 0) | (p->reply ? BH_EVENT_REPLY : 0) |
		      (p->version ? 0 : BH_EVENT_NO_PACKET);
	__u64 *words = (__u64 *)&event->source;

	words[EVENT_SOURCE] = from[0];
	words[EVENT_SOURCE + 1] = from[1];
	words[EVENT_DESTINATION] = to[0];
	words[EVENT_DESTINATION + 1] = to[1];
	words[EVENT_PORTS] = *(const __u32 *)p->port | (__u64)p->protocol << 32 |
			     (__u64)p->hook << 40 | (__u64)(reason & 255) << 48 |
			     (__u64)flags << 56;
	words[EVENT_VERDICTS] = *(const __u64 *)p->verdict;
	words[EVENT_PLACE] = p->generation | (__u64)p->ifindex << 32;
	words[EVENT_LENGTH] = p->length;
	event->time = reader_now();
}

/* Returns the word of a record that has the frame's length. */
static __always_inline __u64 *events_length(struct bh_event *event)
{
	return (__u64 *)&event->source + EVENT_LENGTH;
}

/* Copies a record but for its time. */
static __always_inline void events_copy(struct bh_event *to, const struct bh_event *event)
{
	const __u64 *words = (const __u64 *)&event->source;
	__u64 *copy = (__u64 *)&to->source;

#pragma unroll
	for (int i = 0; i <= EVENT_LENGTH; i++)
		copy[i] = words[i];
}

/* Of the word EVENT_PORTS: destination port, protocol, reason and BH_EVENT_AUDIT. */
#define EVENT_ALIKE (0xffffull << 16 | 0xffull << 32 | 0xffull << 48 | (__u64)BH_EVENT_AUDIT << 56)

/* Returns true if the packet is like that of the last record. */
static __always_inline bool events_are_alike(const struct bh_event *last,
					     const struct bh_event *event)
{
	const __u64 *had = (const __u64 *)&last->source, *words = (const __u64 *)&event->source;

	return !((had[0] ^ words[0]) | (had[1] ^ words[1]) | (had[2] ^ words[2]) |
		 (had[3] ^ words[3]) | ((had[EVENT_PORTS] ^ words[EVENT_PORTS]) & EVENT_ALIKE) |
		 (last->ifindex ^ event->ifindex));
}

/* Keeps the packet among the last drops of the endpoint at @place (maps/past.h). They need no
 * reader. */
static __always_inline void events_keep(const struct bh_event *event, __u32 place)
{
	struct bh_past *past = bpf_map_lookup_elem(&bh_past, &place);
	struct bh_event *drop;

	if (!past)
		return;
	drop = &past->drops[(READ_ONCE(past->next) - 1) & (BH_PAST_DROPS - 1)];
	if (events_are_alike(drop, event)) {
		drop->more++;
		WRITE_ONCE(drop->time, event->time);
		return;
	}
	drop = &past->drops[__sync_fetch_and_add(&past->next, 1) & (BH_PAST_DROPS - 1)];
	WRITE_ONCE(drop->time, 0);
	barrier();
	events_copy(drop, event);
	barrier();
	WRITE_ONCE(drop->time, event->time);
}

/*
 * Writes a record for the reader at @place, if its filter matches and @budget allows the record.
 * The second half of a ring is for endpoints that have spent less than half of their budget, so
 * that a late reader gets the few events of one endpoint in spite of the many of others.
 */
BPF_GLOBAL int events_write_one(const struct bh_event *event, struct bh_reader *reader,
				struct bh_budget *budget, __u32 place)
{
	struct bh_written *written;
	void *ring;

	if (!event || !reader || !reader_matches(&reader->filter, event, place))
		return 0;
	if (budget && !tally_pays(budget))
		return 0;
	if (READ_ONCE(reader->lease) < event->time)
		return reader_remove(place);
	ring = bpf_map_lookup_elem(&bh_rings, &place);
	if (!ring)
		return 0;
	if (budget && tally_spends(budget) && reader_lags(ring)) {
		budget->suppressed++;
		return 0;
	}
	if (bpf_ringbuf_output(ring, (void *)event, sizeof(*event), BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&reader->lost, 1);
		return 0;
	}
	written = bpf_map_lookup_elem(&bh_written, &place);
	if (written)
		written->records++;
	return 0;
}

/* Returns the place of the interface whose budget pays for the record: the place of the endpoint
 * of this node which sent the packet, else @place. Sets *@role to the direction in which that
 * endpoint caused it. @ingress: the interface by which the packet came in. */
static __always_inline __u32 events_cause(const struct bh_event *event, __u32 ingress, __u32 place,
					  __u32 *role)
{
	__u32 hook = event->hook, from;

	*role = hook == BH_HOOK_TO_ENDPOINT || hook == BH_HOOK_UPLINK ? BH_INGRESS : BH_EGRESS;
	if (hook == BH_HOOK_PORT)
		return tally_place(event->ifindex);
	if (hook != BH_HOOK_TO_ENDPOINT || !ingress || ingress == event->ifindex)
		return place;
	from = tally_place_of_endpoint(ingress);
	if (from == BH_TALLIES)
		return place;
	*role = BH_EGRESS;
	return from;
}

/* Writes the record for each reader. @place: that of the interface that the packet is about;
 * @tally: what tally_at() returns for it. */
static __always_inline void events_write_all(const struct bh_event *event, __u32 ingress,
					     __u32 place, struct bh_tally *tally,
					     struct bh_readers *readers)
{
	__u32 role, cause = events_cause(event, ingress, place, &role);
	__u64 active;

	if (cause != place)
		tally = tally_at(cause);
	if (!event_rate || (tally && !tally_samples(role ? &tally->sample[1] : &tally->sample[0])))
		return;
	active = READ_ONCE(readers->active);
	for (__u32 i = 0; i < BH_READERS && active; i++, active >>= 1) {
		struct bh_budget *budget = NULL;

		if (tally)
			budget = role ? &tally->budget[1][i] : &tally->budget[0][i];
		if (active & 1)
			events_write_one(event, &readers->reader[i], budget, i);
	}
}

/* Returns true if isolation denies the packet: the policy of the end at this hook has no rule that
 * matches. */
static __always_inline bool events_isolated(const struct bh_event *event, __u32 direction)
{
	__u32 verdict = direction ? event->verdict[1] : event->verdict[0];

	/* No rule of this tier denies, and an audit record may stand in the rule's place. */
	return event->reason == (direction ? BH_DROP_EGRESS : BH_DROP_INGRESS) && verdict &&
	       !bh_verdict_allow(verdict) && bh_verdict_tier(verdict) == BH_TIER_NETWORK_POLICY;
}

/* Counts and reports a packet by its record. @ingress: the interface by which it came in; @owner:
 * that of the endpoint that it is about. */
BPF_GLOBAL int events_record(const struct bh_event *event, __u32 ingress, __u32 owner)
{
	struct bh_readers *readers;
	struct bh_tally *tally;
	__u32 direction, place;
	bool audit;

	if (!event)
		return 0;
	audit = event->flags & BH_EVENT_AUDIT;
	direction = events_direction(event->hook);
	events_count(event->reason, event->length, direction, audit);
	place = tally_place(owner);
	tally = tally_at(place);
	direction &= 1;
	if (tally && !audit) {
		tally->packets[direction]++;
		tally->bytes[direction] += event->length;
	}
	if (tally && events_isolated(event, direction))
		tally->isolated[direction]++;
	events_keep(event, place);
	readers = reader_any();
	if (readers)
		events_write_all(event, ingress, place, tally, readers);
	return 0;
}

/* Counts and reports a packet that is dropped or, with @audit, would be dropped without audit.
 * @owner: the interface of the endpoint that the packet is about; 0: that of the hook. */
BPF_GLOBAL int events_drop(const struct packet *p, __u32 reason, __u32 audit, __u32 owner)
{
	struct bh_event event;

	if (!p)
		return 0;
	events_fill(&event, p, reason, audit);
	return events_record(&event, p->ingress, owner ? owner : p->ifindex);
}

BPF_GLOBAL int events_open(const struct packet *p)
{
	struct bh_readers *readers = reader_any();
	struct bh_event event;
	__u32 place;

	if (!p || !readers)
		return 0;
	place = tally_place(p->ifindex);
	events_fill(&event, p, BH_PASS_NEW, false);
	events_write_all(&event, p->ingress, place, tally_at(place), readers);
	return 0;
}

/* Reports a connection that opens. */
static __always_inline void events_opened(const struct packet *p)
{
	if (event_allow)
		events_open(p);
}

#endif
