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

/* Counts the rule that decided. Rule 0 stands for isolation, where no rule allowed the packet. */
static __always_inline void events_rule(__u32 verdict)
{
	__u32 rule = bh_verdict_rule(verdict);
	struct bh_rule_hit *hit = NULL;

	if (rule || !bh_verdict_allow(verdict))
		hit = bpf_map_lookup_elem(&bh_rule_hits, &rule);

	if (hit)
		hit->count++;
}

/* Reason and audit in one number: a BPF function has at most five arguments. */
#define EVENTS_SAID(reason, audit) ((reason) | ((audit) ? 1u << 8 : 0))

static __always_inline void events_fill(struct bh_event *event, const struct packet *p, __u32 said)
{
	packet_address(p, p->from, &event->source);
	packet_address(p, !p->from, &event->destination);
	event->source_port = p->port[0];
	event->destination_port = p->port[1];
	event->protocol = p->protocol;
	event->hook = p->hook;
	event->reason = said;
	event->flags = (said >> 8 & 1 ? BH_EVENT_AUDIT : 0) | (p->reply ? BH_EVENT_REPLY : 0) |
		       (p->version ? 0 : BH_EVENT_NO_PACKET);
	event->verdict[0] = p->verdict[0];
	event->verdict[1] = p->verdict[1];
	event->generation = p->generation;
	event->ifindex = p->ifindex;
	event->length = p->length;
	event->more = 0;
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
	struct bh_written *written;
	struct bh_event *event;
	__u64 time;
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
	events_fill(event, p, said);
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
