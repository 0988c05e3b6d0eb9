/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks the policies of both ends of a connection, and notes their answers for the verdict cache.
 */
#ifndef BULKHEAD_KERN_POLICY_ASK_H
#define BULKHEAD_KERN_POLICY_ASK_H

#include "address_owner.h"
#include "policy_lookup.h"
#include "maps/verdict_cache.h"

static __always_inline __u32 policy_point(const struct packet *p, __u32 initiator)
{
	return bh_point(p->protocol, bpf_ntohs(packet_port(p, !initiator)));
}

/* Returns true if an endpoint reaches its own node despite this answer of its policy: only Admin
 * and Baseline rules can deny that. */
static __always_inline bool policy_node_exempt(int reason, __u32 verdict)
{
	return reason == BH_DROP_UNASSIGNED ||
	       (reason == BH_DROP_EGRESS && bh_verdict_tier(verdict) != BH_TIER_ADMIN &&
		bh_verdict_tier(verdict) != BH_TIER_BASELINE);
}

/* Returns true if an Admin or Baseline rule denies an endpoint its own node, or a map lacks what
 * another refers to. Sets *@verdict. */
static __always_inline bool policy_denies_node(const struct end *sender, const struct end *node,
					       __u32 point, __u32 *verdict)
{
	int reason;

	*verdict = 0;
	reason = policy_verdict(sender, node, BH_EGRESS, point, verdict);
	if (reason || bh_verdict_allow(*verdict))
		return reason == BH_DROP_MAPS;
	return !policy_node_exempt(BH_DROP_EGRESS, *verdict);
}

/* Returns true if policy denies an end the connection, and does not only audit: the policies that
 * would deny are enforced. The end itself may be in audit. */
static __always_inline bool policy_denied(const struct bh_cached *found, __u32 role)
{
	return found->denied[role] && !bh_verdict_allow(found->verdict[role]);
}

/* Changes the answer of an endpoint's policy about its own node as policy_node_exempt() says.
 * Audited NetworkPolicies would not deny that either. Returns 0 or the reason to drop. */
static __always_inline int policy_to_node(int reason, __u32 *verdict)
{
	__u32 audit = bh_verdict_audit(*verdict);
	bool exempt = policy_node_exempt(reason, *verdict);

	if (exempt && audit && audit != 1 + BH_TIER_NETWORK_POLICY)
		*verdict |= BH_VERDICT_ALLOW;
	else if (exempt || (!reason && audit == 1 + BH_TIER_NETWORK_POLICY))
		*verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
	return exempt ? 0 : reason;
}

/* Notes the answer of one end's policy. @to_node: the other end is the node. Not inline, for the
 * stack. */
BPF_GLOBAL int policy_note(struct bh_cached *found, __u32 role, int reason, __u32 ifindex,
			   __u32 to_node)
{
	bool audited = false;
	__u32 *verdict;

	if (!found)
		return 0;
	verdict = role ? &found->verdict[1] : &found->verdict[0];
	if (!reason && !bh_verdict_allow(*verdict))
		reason = role ? BH_DROP_EGRESS : BH_DROP_INGRESS;
	if (to_node)
		reason = policy_to_node(reason, verdict);
	/* The packet passes, and counts as one that policy would deny. */
	if (!reason && unlikely(bh_verdict_audit(*verdict))) {
		reason = role ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		audited = true;
	}
	found->flags |= role ? BH_CACHED_SAY(1) : BH_CACHED_SAY(0);
	if (audited || (reason && endpoint_in_audit(ifindex)))
		found->flags |= role ? BH_CACHED_AUDIT(1) : BH_CACHED_AUDIT(0);
	if (role)
		found->denied[1] = reason;
	else
		found->denied[0] = reason;
	return 0;
}

/* Asks the policy of one end, if that is an endpoint of this node and the other end is not the same
 * endpoint. */
static __always_inline void policy_ask(const struct packet *p, const struct ends *ends, __u32 point,
				       __u32 role, struct bh_cached *found)
{
	const struct end *subject = role ? &ends->end[1] : &ends->end[0];
	const struct end *peer = role ? &ends->end[0] : &ends->end[1];
	__u32 *verdict = role ? &found->verdict[1] : &found->verdict[0];
	int reason;

	if (!p->generation || !subject->ifindex || subject->ifindex == peer->ifindex)
		return;
	*verdict = 0;
	reason = policy_verdict(subject, peer, role, point, verdict);
	policy_note(found, role, reason, subject->ifindex,
		    role == BH_EGRESS && peer->flags & END_NODE);
}

/* Bits of bh_cached.end[BH_EGRESS].proven. */
#define END_OF_NODE 1
#define END_CONFINED 2
#define END_NAMES 4 /* domain names that the initiator has learned may allow the flow */
#define END_SERVED 8 /* the initiator's address may be a Service's */
#define END_ISOLATED 16 /* TCP of an endpoint that a policy isolates, with END_OF_NODE */

/* Notes that names may allow what the initiator's policy denies. Not inline, for the stack. */
static __noinline void policy_mark_names(const struct end *subject, struct bh_cached *found)
{
	struct bh_segment *segment = policy_segment(subject->assignment);

	if (segment && segment->flags & BH_SEGMENT_DOMAINS &&
	    found->denied[BH_EGRESS] == BH_DROP_EGRESS)
		found->end[BH_EGRESS].proven |= END_NAMES;
}

static __always_inline void policy_ask_both(const struct packet *p, const struct ends *ends,
					    __u32 point, struct bh_cached *found)
{
	policy_ask(p, ends, point, BH_EGRESS, found);
	policy_ask(p, ends, point, BH_INGRESS, found);
}

/* Removes the answers of policy. */
static __always_inline void policy_unasked(struct bh_cached *found)
{
	found->flags &= BH_CACHED_SERVICE;
	found->verdict[0] = found->verdict[1] = 0;
	found->denied[0] = found->denied[1] = 0;
	found->end[BH_EGRESS].proven &= ~END_NAMES;
}

/* Notes that an end has an address of this node. */
static __always_inline void policy_mark_node(struct bh_cached *found)
{
	found->end[BH_EGRESS].proven |= END_OF_NODE;
}

/* Returns true if a policy may deny in that direction. An endpoint without a segment is isolated.
 */
static __always_inline bool policy_isolates(struct bh_segment *segment, __u32 direction)
{
	return !segment || (segment->flags & BH_SEGMENT_POLICY(direction & 1) &&
			    !(segment->flags & BH_SEGMENT_AUDITED(direction & 1)));
}

/* Notes that an end has an address of this node, and a policy isolates the endpoint of this hook.
 * The kernel cannot be asked to whom the node forwards SCTP of the endpoint: such a packet must not
 * leave the node. */
static __noinline void policy_mark_isolated(const struct packet *p, const struct end *own,
					    struct bh_cached *found)
{
	struct bh_segment *segment = policy_segment(own->assignment);
	bool egress = policy_isolates(segment, BH_EGRESS);

	if (p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_FROM_ENDPOINT && egress)
		found->end[BH_EGRESS].proven |= END_CONFINED;
	if (p->protocol == IPPROTO_TCP && (egress || policy_isolates(segment, BH_INGRESS)))
		found->end[BH_EGRESS].proven |= END_ISOLATED;
}

#endif
