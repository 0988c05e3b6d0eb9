/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks the policy of one end about a flow: at most two lookups of a pair, one of a named list and a
 * binary search (maps/segment.h, maps/ports.h).
 */
#ifndef BULKHEAD_KERN_POLICY_LOOKUP_H
#define BULKHEAD_KERN_POLICY_LOOKUP_H

#include "endpoint.h"
#include "maps/pair.bpf.h"
#include "maps/ports.bpf.h"
#include "maps/segment.bpf.h"
#include "maps/variation.bpf.h"

static __always_inline struct bh_segment *policy_segment(__u64 assignment)
{
	__u32 slot = bh_assignment_slot(assignment);

	return slot ? active_lookup(&at_segments, &slot) : NULL;
}

/* Returns true if an egress policy applies to @subject. */
static __always_inline bool policy_has_egress(const struct end *subject)
{
	struct bh_segment *segment = policy_segment(subject->assignment);

	return segment && segment->flags & BH_SEGMENT_POLICY(BH_EGRESS);
}

struct policy_search {
	void *ports; /* the map */
	__u32 at; /* an interval of the list that starts at @point or before */
	__u32 end; /* of the list */
	__u32 point;
	__u32 step; /* 0 afterwards, unless an interval is not in the map */
};

/* One step of the search, for bpf_loop(): the verifier would follow each path through a plain
 * loop. */
static long policy_search_step(__u32 i __attribute__((unused)), struct policy_search *search)
{
	__u32 index = search->at + search->step;
	struct bh_interval *interval;

	if (index < search->end) {
		interval = bpf_map_lookup_elem(search->ports, &index);
		if (!interval)
			return 1;
		if (interval->start <= search->point)
			search->at = index;
	}
	search->step >>= 1;
	return 0;
}

/* Finds the verdict of the interval that contains @point. Returns false if the list is not in the
 * map. */
static __always_inline bool policy_interval(struct bh_ports_ref ports, __u32 point, __u32 *verdict)
{
	__u32 steps = ports.count > 256 ? BH_PORTS_STEPS : ports.count > 16 ? 8 : 4;
	struct policy_search search = {
		.ports = active_map(&at_ports),
		.at = ports.at,
		.end = ports.at + ports.count,
		.point = point,
		.step = 1u << (steps - 1),
	};
	struct bh_interval *interval;

	if (!search.ports)
		return false;
	bpf_loop(steps, policy_search_step, &search, 0);
	interval = bpf_map_lookup_elem(search.ports, &search.at);
	if (search.step || !interval)
		return false;
	*verdict = interval->verdict;
	return true;
}

/* Finds the port list that a named one stands for at this destination. */
static __always_inline bool policy_named(__u64 destination, struct bh_ports_ref *ports)
{
	struct bh_segment *segment = policy_segment(destination);
	struct bh_variation_key variation = {.variation = bh_assignment_variation(destination)};
	struct bh_named_key key = {.list = ports->at};
	struct bh_variation *resolved;
	struct bh_named *named;

	if (segment && variation.variation) {
		variation.segment = segment->id;
		resolved = active_lookup(&at_variations, &variation);
		if (!resolved)
			return false;
		key.resolution = resolved->resolution;
	}
	named = active_lookup(&at_named, &key);
	if (!named)
		return false;
	*ports = named->ports;
	return true;
}

static __always_inline struct bh_ports_ref
policy_pair(const struct bh_segment *subject, const struct bh_segment *peer, __u32 direction)
{
	struct bh_pair_key key = {
		.subject = direction ? subject->own[1] : subject->own[0],
		.peer = peer->peer_own,
	};
	struct bh_pair *pair;

	if (key.subject) {
		pair = active_lookup(&at_pairs, &key);
		if (pair)
			return pair->ports;
	}
	key.subject = direction ? subject->common[1] : subject->common[0];
	key.peer = peer->peer_common;
	if (key.subject) {
		pair = active_lookup(&at_pairs, &key);
		if (pair)
			return pair->ports;
	}
	return peer->flags & BH_SEGMENT_EXTERNAL ? subject->fallback[direction & 1][1]
						 : subject->fallback[direction & 1][0];
}

/*
 * Finds the verdict of @subject's policy about @peer. @point: on the number line of maps/types.h.
 * Returns 0 and sets *@verdict, which may allow or deny; or BH_DROP_UNASSIGNED if an end has no
 * segment yet and an enforced policy needs it; or BH_DROP_MAPS.
 */
BPF_GLOBAL int policy_verdict(const struct end *subject, const struct end *peer, __u32 direction,
			      __u32 point, __u32 *verdict)
{
	struct bh_segment *from, *about;
	struct bh_ports_ref ports;

	if (!subject || !peer || !verdict)
		return BH_DROP_MAPS;
	if (!bh_assignment_slot(subject->assignment))
		return BH_DROP_UNASSIGNED;
	from = policy_segment(subject->assignment);
	if (!from || !from->id)
		return BH_DROP_MAPS;
	if (!(from->flags & BH_SEGMENT_POLICY(direction & 1))) {
		*verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
		return 0;
	}
	if (!bh_assignment_slot(peer->assignment)) {
		if (!(from->flags & BH_SEGMENT_AUDITED(direction & 1)))
			return BH_DROP_UNASSIGNED;
		*verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
		return 0;
	}
	about = policy_segment(peer->assignment);
	if (!about || !about->id)
		return BH_DROP_MAPS;
	ports = policy_pair(from, about, direction);
	if (ports.count == BH_PORTS_NAMED &&
	    !policy_named(direction == BH_EGRESS ? peer->assignment : subject->assignment, &ports))
		return BH_DROP_MAPS;
	if (!ports.count) {
		*verdict = ports.at;
		return 0;
	}
	return policy_interval(ports, point, verdict) ? 0 : BH_DROP_MAPS;
}

#endif
