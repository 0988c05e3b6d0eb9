/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters, rule hits and the event of a packet whose fate is settled. */
#ifndef BULKHEAD_KERN_EVENTS_H
#define BULKHEAD_KERN_EVENTS_H

#include "packet.h"
#include "tunables.h"
#include "maps/counter.bpf.h"
#include "maps/event.bpf.h"
#include "maps/rule_hit.bpf.h"

static __always_inline void events_count(__u32 reason, __u32 length, bool audit)
{
	struct bh_counter *counter = bpf_map_lookup_elem(&bh_counters, &reason);

	if (!counter)
		return;
	if (unlikely(audit)) {
		counter->audit_packets++;
		counter->audit_bytes += length;
	} else {
		counter->packets++;
		counter->bytes += length;
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

/* Whether one more record may be written. */
static __always_inline bool events_allowed(struct bh_event_budget *budget)
{
	__u64 tick = bpf_jiffies64() >> BH_TICK_SHIFT;

	if (event_sample > 1 && ++budget->sample < event_sample)
		return false;
	budget->sample = 0;
	if (tick - budget->tick >= event_period) {
		budget->tick = tick;
		budget->left = event_rate;
	}
	if (!budget->left) {
		budget->suppressed++;
		return false;
	}
	budget->left--;
	return true;
}

CHECKED_ALONE int events_emit(const struct packet *p, __u32 reason, __u32 audit)
{
	__u32 zero = 0;
	struct bh_event_budget *budget = bpf_map_lookup_elem(&bh_event_budget, &zero);
	struct bh_event *event;

	if (!p || !budget || !event_rate || !events_allowed(budget))
		return 0;
	event = bpf_ringbuf_reserve(&bh_events, sizeof(*event), 0);
	if (!event) {
		budget->suppressed++;
		return 0;
	}
	event->time = bpf_ktime_get_coarse_ns();
	packet_address(p, p->from, &event->source);
	packet_address(p, !p->from, &event->destination);
	event->source_port = p->port[0];
	event->destination_port = p->port[1];
	event->protocol = p->protocol;
	event->hook = p->hook;
	event->reason = reason;
	event->flags = (audit ? BH_EVENT_AUDIT : 0) | (p->reply ? BH_EVENT_REPLY : 0) |
		       (p->version ? 0 : BH_EVENT_NO_PACKET);
	event->verdict[0] = p->verdict[0];
	event->verdict[1] = p->verdict[1];
	event->generation = p->generation;
	event->ifindex = p->ifindex;
	event->length = p->length;
	event->suppressed = budget->suppressed;
	budget->suppressed = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
