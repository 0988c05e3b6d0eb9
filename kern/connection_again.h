/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a packet whose connection has an entry: by the entry's words, or anew after a change of
 * policy. Functions return an enum bh_reason, or an internal reason of address_owner.h.
 */
#ifndef BULKHEAD_KERN_CONNECTION_AGAIN_H
#define BULKHEAD_KERN_CONNECTION_AGAIN_H

#include "connection_new.h"
#include "flow_cache.h"

/* Updates the state, which was @state, by a TCP segment. A RST or two FINs shorten the life of the
 * entry if their numbers prove their senders; a segment that cannot follow a true RST, or data
 * behind the FIN after both FINs, restores it. */
static __always_inline void connection_touch_tcp(const struct packet *p, struct bh_ct *ct,
						 __u32 state)
{
	__u32 set = 0, clear = BH_CT_DENIED | BH_CT_LOOK;

	if (!(p->tcp_flags & TCP_RST))
		clear |= BH_CT_RST;
	else if (state & BH_CT_HALF || ct_is_senders(p, ct))
		set = BH_CT_RST;
	if (p->tcp_flags & TCP_FIN && (state & BH_CT_HALF || ct_finishes(p, ct))) {
		set |= BH_CT_FIN(p->from);
		/* before the state says that both directions are closed (ct_goes_on()) */
		if (!(state & BH_CT_HALF) && state & BH_CT_FIN(!p->from))
			ct_note_ends(p, ct, state);
	} else if ((state & BH_CT_FINS) == BH_CT_FINS && ct_goes_on(p, ct)) {
		clear |= BH_CT_FIN(p->from);
	}
	ct_state(p, ct, set, clear);
	if (!(state & BH_CT_HALF) && set & BH_CT_FINS)
		ct_note_ends(p, ct, state);
	if (!(state & BH_CT_HALF) && (p->tcp_flags & (TCP_ACK | TCP_RST | TCP_SYN)) == TCP_ACK)
		ct_acknowledge(ct, p->from, p->sequence, p->acknowledged);
}

static __always_inline void connection_touch_datagram(const struct packet *p, struct bh_ct *ct)
{
	ct_state(p, ct, 0, BH_CT_DENIED | BH_CT_LOOK);
	ct_exchange(ct, ct_bound(p, ct->end), READ_ONCE(ct->state),
		    ct_sender(p, READ_ONCE(ct->verdict[BH_EGRESS])));
}

/* Updates age and state of a live entry by a packet: first the age, since the new state may have a
 * shorter timeout (table_lapsed()). */
BPF_GLOBAL int connection_touch(const struct packet *p, struct bh_ct *ct)
{
	if (!p || !ct || p->class != PACKET_FLOW)
		return 0;
	if (READ_ONCE(ct->seen) != p->now)
		WRITE_ONCE(ct->seen, p->now);
	if (p->protocol == IPPROTO_TCP)
		connection_touch_tcp(p, ct, READ_ONCE(ct->state));
	else
		connection_touch_datagram(p, ct);
	return 0;
}

/* Notes in the entry that policy now denies a connection that it allowed before. */
static __always_inline void connection_deny(const struct packet *p, struct bh_ct *ct)
{
	if (READ_ONCE(ct->state) & BH_CT_DENIED)
		return;
	WRITE_ONCE(ct->seen, p->now);
	ct_state(p, ct, BH_CT_DENIED, 0);
}

/* Returns true if the endpoint at this hook is the initiator: nobody else is behind its address,
 * and conntrack has said who opened the connection before the entry is used (datagram_is_of()). */
static __always_inline bool connection_is_own(const struct packet *p, const struct connection *c)
{
	return (p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == c->initiator);
}

enum {
	WORD_EVALUATES = 1, /* this hook evaluates for the end, if its stored word is not valid */
	/* the words have the tag of other ends, which is in the bits of a word's tag */
	WORD_MOVED = 2,
};

/* Returns true if the entry is still the connection's, though its slot may be given to another one
 * at any time. @word: that of an end, as it was read; 0: that end has none yet. @how: WORD_MOVED
 * with the connection's former tag, or 0. */
static __always_inline bool connection_has(const struct packet *p, const struct bh_ct *ct,
					   const struct connection *c, __u64 word, __u32 how)
{
	__u32 tag;

	if (!word)
		word = READ_ONCE(ct->verdict[BH_EGRESS]);
	tag = (__u32)word & ~BH_CT_FLAGS;
	return tag == connection_tag(p, c) || (how & WORD_MOVED && tag == (how & ~BH_CT_FLAGS));
}

/*
 * Stores the word of an end in place of the one that was read; 0: the end had none yet. Connections
 * that have just begun have no word of the responder's, so the store succeeds in the entry of one
 * that has got the slot since connection_has(). Then the word is taken out again; it has the tag of
 * the former connection, so that it has let nothing pass.
 */
static __always_inline void connection_store(const struct packet *p, struct bh_ct *ct,
					     const struct connection *c, __u64 *stored, __u64 word,
					     __u64 now)
{
	if (__sync_val_compare_and_swap(stored, word, now) == word && !word &&
	    !connection_has(p, ct, c, 0, 0))
		__sync_val_compare_and_swap(stored, now, 0);
}

/*
 * Returns 0 or the reason for which one end denies: by its stored word or, if that is not valid, by
 * a new evaluation. Stores nothing in an entry that another connection has by now. @how:
 * WORD_EVALUATES, WORD_MOVED. Global: the verifier checks it once, not for each end.
 */
BPF_GLOBAL int connection_word(struct packet *p, struct bh_ct *ct, const struct connection *c,
			       __u32 role, __u32 how)
{
	__u64 *stored, word, now = 0;
	int reason;

	if (!p || !ct || !c)
		return BH_DROP_MAPS;
	stored = role ? &ct->verdict[1] : &ct->verdict[0];
	word = READ_ONCE(*stored);
	if ((!(word & BH_CT_ASKS) || connection_is_own(p, c)) &&
	    (word & ~(__u64)BH_CT_FLAGS) == bh_ct_word(p->generation, connection_tag(p, c), 0)) {
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		if (!(word & BH_CT_ALLOW)) {
			p->enforced = true;
			return reason;
		}
		if (word & BH_CT_AUDIT)
			packet_audited(p, reason);
		return 0;
	}
	if (!(how & WORD_EVALUATES))
		return 0;
	reason = connection_evaluate(p, c, role, &now);
	if (!connection_has(p, ct, c, word, how))
		return reason;
	if (!reason || word)
		connection_store(p, ct, c, stored, word, now);
	/* An end that has never allowed the connection cannot end it now. */
	if (reason && word)
		connection_deny(p, ct);
	return reason;
}

/* Like connection_word(), for an end that may be evaluated at its own hook only: then *@whole
 * becomes false. @moved: WORD_MOVED with the former tag, or 0; @away: the role that never is
 * evaluated at this hook. */
static __always_inline int connection_side(struct packet *p, struct bh_ct *ct,
					   const struct connection *c, __u32 role, __u32 moved,
					   __u32 away, bool *whole)
{
	__u32 sender = p->reply ? BH_INGRESS : BH_EGRESS;
	bool evaluates =
		p->hook != BH_HOOK_FROM_ENDPOINT || role == sender || !c->found.end[role].ifindex;

	*whole &= evaluates;
	return connection_word(p, ct, c, role,
			       ((evaluates || moved) && role != away ? WORD_EVALUATES : 0) | moved);
}

/*
 * Returns the role of the peer of this hook's endpoint if the peer is a gateway's client
 * (connection_to_client()): the entry has the gateway's interface, since the gateway's hook has
 * made it, and a packet to this hook's endpoint has come in by that interface. Then gives @c the
 * interface. Else returns CONNECTION_NO_GATEWAY.
 */
BPF_GLOBAL __u32 connection_from_client(const struct packet *p, const struct bh_ct *ct,
					struct connection *c)
{
	struct bh_addr client;
	struct bh_ct_end *found;
	__u32 end, role, ifindex;

	if (!p || !ct || !c)
		return CONNECTION_NO_GATEWAY;
	end = p->hook == BH_HOOK_FROM_ENDPOINT ? !p->from : p->from;
	role = end == c->initiator ? BH_EGRESS : BH_INGRESS;
	ifindex = end ? ct->end[1].ifindex : ct->end[0].ifindex;
	found = role ? &c->found.end[1] : &c->found.end[0];
	if (!ifindex || found->ifindex || c->found.by_hook || p->hook == BH_HOOK_LEAVE ||
	    (p->hook == BH_HOOK_TO_ENDPOINT && p->ingress != ifindex))
		return CONNECTION_NO_GATEWAY;
	packet_address(p, end, &client);
	if (!endpoint_allows_source(ifindex, &client))
		return CONNECTION_NO_GATEWAY;
	found->ifindex = ifindex;
	return role;
}

static __always_inline bool connection_moved(const struct bh_ct *ct, const struct connection *c)
{
	return ct->end[0].ifindex != connection_at(c, 0)->ifindex ||
	       ct->end[1].ifindex != connection_at(c, 1)->ifindex;
}

/* Returns true if the entry was made for an endpoint at another interface than the end has now: the
 * address belongs to another sandbox, which inherits no connection, even while the command has not
 * yet forgotten those of the former one. An end on another node has no interface, and nothing shows
 * that the address is another pod's by now: policy evaluates the connection by the labels of that
 * one, in the original direction. So who was called may still answer an address that its egress
 * policy does not let it call. The node of that address has no entry, and evaluates the answer as a
 * call. */
static __always_inline bool connection_has_former(const struct bh_ct *ct,
						  const struct connection *c)
{
	__u32 first = ct->end[0].ifindex, second = ct->end[1].ifindex;

	return (first && first != connection_at(c, 0)->ifindex) ||
	       (second && second != connection_at(c, 1)->ifindex);
}

/* Returns true if an entry with other interfaces is another connection's: it is of an address's
 * former owner, it was evaluated at the active generation, or an end was identified by MAC or hook.
 * If it is none of these, one of its addresses has become an endpoint's. */
static __always_inline bool connection_is_others(const struct packet *p, const struct bh_ct *ct,
						 const struct connection *c)
{
	if (c->found.by_mac || c->found.by_hook || READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_BY_MAC)
		return true;
	if (connection_has_former(ct, c))
		return true;
	return p->generation && (bh_ct_generation(READ_ONCE(ct->verdict[0])) == p->generation ||
				 bh_ct_generation(READ_ONCE(ct->verdict[1])) == p->generation);
}

/* Gives an end of the entry the interface of the endpoint that its address has become. @state: of
 * the entry, read before the entry was found to be the packet's. If another connection has got the
 * slot since, takes the interface out again: it may be in that one's entry. */
static __always_inline void connection_move_end(struct bh_ct *ct, struct bh_ct_end *end,
						const struct bh_ct_end *now, __u32 state)
{
	if (!now->ifindex || __sync_val_compare_and_swap(&end->ifindex, 0, now->ifindex))
		return;
	if ((table_state(ct) ^ state) & ~(BH_CT_STATE & ~BH_CT_GONE)) {
		__sync_val_compare_and_swap(&end->ifindex, now->ifindex, 0);
		return;
	}
	__builtin_memcpy(end->mac, now->mac, sizeof(end->mac));
	end->proven = 0;
}

/* Does so for both ends. Returns WORD_MOVED, with the tag that the connection's words had. */
BPF_GLOBAL __u32 connection_move(const struct packet *p, struct bh_ct *ct,
				 const struct connection *c, __u32 state)
{
	__u32 tag;

	if (!p || !ct || !c)
		return 0;
	tag = ct_bound(p, ct->end);
	/* An entry that is being freed has nothing to move. */
	if (!(state & BH_CT_GONE)) {
		connection_move_end(ct, &ct->end[0], connection_at(c, 0), state);
		connection_move_end(ct, &ct->end[1], connection_at(c, 1), state);
	}
	return tag | WORD_MOVED;
}

/*
 * Evaluates an ICMP error about a connection that the responder's hook has not let in yet. Of such
 * a connection only the initiator's packets were sent. The error changes nothing in the entry: its
 * words say which ends the connection itself has passed.
 */
static __always_inline int connection_early_error(struct packet *p, const struct connection *c)
{
	return p->reply ? connection_without_entry(p, c) : BH_DROP_UNRELATED;
}

/* Continues connection_again() after @c is found. */
BPF_GLOBAL int connection_go_on(struct packet *p, struct bh_ct *ct, struct connection *c)
{
	__u32 away = CONNECTION_NO_GATEWAY;
	__u32 state, words = 0;
	bool whole = true, opens, moved;
	int reason;

	if (!p || !ct || !c)
		return BH_DROP_MAPS;
	state = table_state(ct);
	p->lives = READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_ALLOW;
	reason = connection_name(p, c);
	if (reason)
		return reason;
	moved = connection_moved(ct, c);
	if (moved) {
		away = connection_from_client(p, ct, c);
		moved = connection_moved(ct, c);
	} else if (c->found.by_hook && !BH_CT_IS_HOOK(p->key.scope)) {
		away = connection_to_client(p, c);
	}
	/* If another connection has the slot by now, nothing is stored there (connection_word()),
	 * and no entry of this hook's own is wanted. */
	moved = moved && ct_is_of(p, ct);
	if (moved && connection_is_others(p, ct, c))
		return CONNECTION_OF_OTHERS;
	flow_cache_forget(p);
	opens = !READ_ONCE(ct->verdict[BH_INGRESS]);
	if (opens && p->class == PACKET_ICMP_ERROR)
		return connection_early_error(p, c);
	if (p->hook == BH_HOOK_TO_ENDPOINT && !p->reply && c->flags &&
	    !(c->found.flags & BH_CACHED_NODE))
		return BH_DROP_CLAIM;
	/* A change of policy has added an endpoint: both ends are evaluated again. */
	if (moved)
		words = connection_move(p, ct, c, state);
	/* Written out: the verifier of 6.1 refuses a loop around these calls ("back-edge"). */
	reason = connection_side(p, ct, c, BH_EGRESS, words, away, &whole);
	if (!reason)
		reason = connection_side(p, ct, c, BH_INGRESS, words, away, &whole);
	if (event_rate && (reason || (whole && (opens || p->audit))))
		connection_recall(p, c);
	if (reason)
		return reason;
	p->confined = connection_is_confined(p, c);
	if (whole || !(READ_ONCE(ct->state) & BH_CT_DENIED))
		connection_touch(p, ct);
	if (!whole)
		p->uncounted = true;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_set_source(ct, p);
	return opens ? BH_PASS_NEW : BH_PASS_ESTABLISHED;
}

/* Returns true if both ends have allowed the connection at the active generation, at the same
 * interfaces. */
static __always_inline bool connection_unchanged(const struct packet *p, const struct bh_ct *ct,
						 __u64 *word)
{
	const struct ct_sight at = {p->hook, p->from, p->ifindex, p->ingress, p->mac_from};

	return ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), word) &&
	       ct_ends_match(ct->end, *word, &at) && !ct_is_anybody(p, ct) &&
	       !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

/*
 * Evaluates again a connection to a Service's address, by its backend, which only the kernel knows.
 * If the kernel knows none, the caller's packet will get another backend and be evaluated there. A
 * reply then belongs to no evaluated connection and drops, unless this node made it.
 */
static __always_inline int connection_backend(const struct packet *p)
{
	if (nat_can_ask(p))
		return CONNECTION_ASKS;
	return p->reply && p->told != TOLD_REPLY && p->ingress ? BH_DROP_BACKEND : 0;
}

/* Returns true if the packet is a reply to a masqueraded initiator whom the kernel does not tell,
 * after a change of policy. Only the initiator's next packet tells, by the interface by which it
 * comes in. */
static __noinline bool connection_is_masked_reply(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return p->reply && p->protocol == IPPROTO_TCP && translation_is_silent(p) &&
	       !(word & BH_CT_NODE) && bh_ct_generation(word) != p->generation;
}

/* Returns true if the kernel may by now have chosen another backend for a call that was allowed,
 * beyond an interface without a hook. False if every interface is known to have a hook. */
static __always_inline bool connection_may_change_backend(const struct packet *p, __u64 word)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_SERVICE &&
	       p->links != LINKS_GUARDED;
}

/* Evaluates such a call by the backend that it has now. Not inline, for the stack. */
static __noinline int connection_evaluate_backend(struct packet *p, const struct connection *c)
{
	return connection_refuses(c, BH_EGRESS) ? connection_without_entry(p, c) : 0;
}

/* Returns true if the packet is a reply to a call by a Service's address, and the last packet of
 * the call was dropped where its backend showed (doubt.h). */
static __always_inline bool connection_is_doubted(const struct packet *p, const struct bh_ct *ct)
{
	return p->reply && p->hook == BH_HOOK_TO_ENDPOINT &&
	       unlikely(READ_ONCE(ct->state) & BH_CT_BACKEND);
}

/* Evaluates the call of such a reply by the backend that the kernel has named. A denial keeps
 * nothing: the kernel may choose another backend. Not inline, for the stack. */
static __noinline int connection_doubted(struct packet *p, struct bh_ct *ct,
					 const struct connection *c)
{
	if (connection_refuses(c, BH_EGRESS) || connection_refuses(c, BH_INGRESS))
		return connection_without_entry(p, c);
	ct_state(p, ct, 0, BH_CT_BACKEND);
	return 0;
}

/* Returns true if the packet is a RST of a caller whose last packet was dropped where its backend
 * showed. The kernel forgets the call by the RST, and tells nothing at the hook that would drop
 * it. */
static __always_inline bool connection_resets_doubted(const struct packet *p,
						      const struct bh_ct *ct)
{
	return p->protocol == IPPROTO_TCP && p->tcp_flags & TCP_RST && !p->reply &&
	       p->hook == BH_HOOK_FROM_ENDPOINT && READ_ONCE(ct->state) & BH_CT_BACKEND;
}

/* Returns true if the packet may be one that must not leave the node: the entry does not say so. */
static __always_inline bool connection_may_be_confined(const struct packet *p)
{
	return p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_FROM_ENDPOINT;
}

/* Evaluates a packet whose entry does not say all, after @c is found. Returns 0, a reason to drop,
 * or CONNECTION_ASKS. Not inline, for the stack. */
static __noinline int connection_unsure(struct packet *p, struct bh_ct *ct,
					const struct connection *c)
{
	int reason = 0;

	if (c->found.flags & BH_CACHED_SERVICE)
		reason = connection_backend(p);
	if (!reason && c->found.flags & BH_CACHED_MASK && connection_is_masked_reply(p, ct))
		reason = BH_DROP_BACKEND;
	if (!reason && p->links == LINKS_STRAY)
		reason = connection_evaluate_backend(p, c);
	if (!reason && connection_is_doubted(p, ct))
		reason = connection_doubted(p, ct, c);
	return reason;
}

/* Passes a packet whose entry says all. Returns CONNECTION_ASKS_LINKS if that depends on the
 * interfaces; 0: the packet is to be evaluated. Not inline, for the stack. */
static __noinline int connection_plain(struct packet *p, struct bh_ct *ct)
{
	__u64 word;

	if (!connection_unchanged(p, ct, &word) || connection_is_doubted(p, ct) ||
	    connection_may_be_confined(p))
		return 0;
	if (connection_may_change_backend(p, word))
		return p->links ? 0 : CONNECTION_ASKS_LINKS;
	if (!(READ_ONCE(ct->state) & BH_CT_HALF)) /* a half-open one is in no slot yet */
		flow_cache_forget(p);
	connection_touch(p, ct);
	p->uncounted = p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_LOCAL;
	return BH_PASS_ESTABLISHED;
}

/*
 * Evaluates a packet of a connection that has an entry, in either direction. If its words are of
 * another generation, evaluates both ends again, in the connection's original direction. Evaluates
 * a call to a Service by its present backend while an interface has no hook.
 */
BPF_GLOBAL int connection_again(struct packet *p, struct bh_ct *ct)
{
	struct connection c;
	__u64 word;
	int reason;

	if (!p || !ct)
		return BH_DROP_MAPS;
	word = READ_ONCE(ct->verdict[BH_EGRESS]);
	p->reply = ct_sender(p, word) == BH_INGRESS;
	reason = connection_resets_doubted(p, ct) ? BH_DROP_BACKEND : connection_plain(p, ct);
	if (reason)
		return reason;
	c.initiator = !!(word & BH_CT_INITIATOR);
	c.flags = word & BH_CT_NODE;
	if (word & BH_CT_ASKS && nat_can_ask(p))
		return CONNECTION_ASKS;
	reason = connection_resolve(p, &c);
	if (!reason)
		reason = connection_unsure(p, ct, &c);
	return reason ? reason : connection_go_on(p, ct, &c);
}

#endif
