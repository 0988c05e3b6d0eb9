/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a flow by the domain names that its sender has learned for the destination
 * (maps/domain.h). The flow was denied by its address alone.
 */
#ifndef BULKHEAD_KERN_DOMAIN_H
#define BULKHEAD_KERN_DOMAIN_H

#include "policy_ask.h"
#include "maps/dns.bpf.h"
#include "maps/domain.bpf.h"

/* The state of a search among the names of one address. */
struct domain_search {
	const struct bh_learned *learned;
	__u64 owner; /* hash of the entry's key */
	struct end subject, peer; /* `subject`: as by the name */
	__u32 class[2]; /* of the sender: own and common */
	__u32 point, now, generation, verdict;
	bool lives; /* an open connection: names count although their time is over */
	bool found;
};

/* Makes the subject one of the segment for the name. Returns false if no rule uses the name. */
static __always_inline bool domain_segment(struct domain_search *search, __u64 domain)
{
	struct bh_domain_key key = {.domain = domain, .class = search->class[0]};
	struct bh_domain_segment *as = key.class ? active_lookup(&at_by_domain, &key) : NULL;
	struct bh_segment *segment;

	if (!as) {
		key.class = search->class[1];
		as = active_lookup(&at_by_domain, &key);
	}
	if (!as)
		return false;
	search->subject.assignment = bh_assignment(search->generation, as->slot, 0);
	segment = policy_segment(search->subject.assignment);
	return segment && segment->id == as->id;
}

/* One step of the search, for bpf_loop(). */
static long domain_step(__u32 i, struct domain_search *search)
{
	const struct bh_learned *learned = search->learned;
	__u64 domain, until;

	i &= BH_LEARNED_NAMES - 1;
	domain = READ_ONCE(learned->domain[i]);
	until = READ_ONCE(learned->until[i]);
	if (!domain || !bh_learned_is_stamped(until, search->owner, domain) ||
	    (!search->lives && (__s32)((__u32)until - search->now) < 0) ||
	    !domain_segment(search, domain))
		return 0;
	if (policy_verdict(&search->subject, &search->peer, BH_EGRESS, search->point,
			   &search->verdict) ||
	    !bh_verdict_allow(search->verdict))
		return 0;
	search->found = true;
	return 1;
}

/* Finds the two ends. Returns false if no name can count. */
static __always_inline bool domain_ends(const struct packet *p, __u32 ifindex,
					struct domain_search *search)
{
	struct bh_segment *segment;

	if (endpoint_of(ifindex, p->version, p->generation, &search->subject) ||
	    search->subject.ifindex != ifindex ||
	    endpoint_resolve(packet_address_at(p, !p->calls), p->generation, &search->peer))
		return false;
	segment = policy_segment(search->subject.assignment);
	if (!segment)
		return false;
	search->class[0] = segment->own[BH_EGRESS];
	search->class[1] = segment->common[BH_EGRESS];
	return search->class[1];
}

/* Not inline, for the stack. */
static __noinline __u64 domain_owner(const struct bh_learned_key *key)
{
	struct bh_domain_hash hash;

	bh_domain_begin(&hash, domain_key[0], domain_key[1]);
	return bh_learned_owner(&hash, key);
}

/* Asks whether a name that the endpoint has learned allows the flow (struct packet's `calls` and
 * `verdict`). If so, sets the verdict of the packet's egress. Returns NAMED_*. */
BPF_GLOBAL int domain_ask(struct packet *p)
{
	struct domain_search search = {};
	struct bh_learned_key key = {};

	if (!p)
		return NAMED_NOT;
	key.ifindex = p->verdict[BH_EGRESS];
	p->verdict[BH_EGRESS] = 0;
	packet_address(p, !p->calls, &key.addr);
	search.learned = bpf_map_lookup_elem(&bh_learned, &key);
	if (!search.learned || !domain_ends(p, key.ifindex, &search))
		return NAMED_NOT;
	search.owner = domain_owner(&key);
	search.point = policy_point(p, p->calls);
	search.now = p->now;
	search.generation = p->generation;
	search.lives = p->lives;
	bpf_loop(BH_LEARNED_NAMES, domain_step, &search, 0);
	if (!search.found)
		return NAMED_NOT;
	p->verdict[BH_EGRESS] = search.verdict;
	return NAMED_ALLOWS;
}

#endif
