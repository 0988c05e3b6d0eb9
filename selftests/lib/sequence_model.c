// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model keeps a list of conversations. Of each it knows the actor that began it (the true one,
 * whatever the frames claim), which hooks have let its frames through, and when. The model
 * evaluates every frame by the active policies, and never keeps a verdict.
 *
 * A frame of a live conversation is evaluated in the direction in which the conversation began. Any
 * other frame is evaluated in its own direction. Only a SYN begins a TCP conversation, and each SYN
 * is evaluated in its own direction. A frame to a group is evaluated by each receiver's policy, and
 * begins no conversation; that of a routed pod is one to its node, too. An actor in audit counts as
 * one whose policy allows everything, malformed frames and forged addresses included.
 *
 * If the specification is silent, the model allows both results (MAY):
 *  - The hook of the sender may drop a frame early that the hook of the receiver would drop.
 *  - A frame that reaches another actor than its address's owner, or several actors: the sender's
 *    egress policy may be asked about the owner or about the receiver. If both answers agree,
 *    the programs must agree with them.
 *  - A conversation that began by such a frame, with another actor's link-local address, or with
 *    the addresses and ports of an older conversation of others: the programs may remember it or
 *    not. Its own direction is always evaluated; its replies may count as replies. The older
 *    conversation stays.
 *  - An answer from an address that policy does not know, to a frame that was let through to that
 *    address: the answer is a reply, and its source is none of the endpoint's addresses. If the
 *    check of the source drops the answer, that denies no conversation.
 *  - An endpoint that comes: conversations with its address may go on or stop.
 *  - TCP: a second SYN or SYN-ACK with another number may count beside the first one. Of two SYNs
 *    that crossed, either may have opened the connection, and it is open what both ends may send. A
 *    RST outside the window may pass; it may end the connection if it acknowledges, else it has no
 *    effect. Segments may pass after a RST or both FINs, between the end of the shorter life and
 *    that of the longer one, and so may the last segments of a connection that a new handshake has
 *    replaced. A RST may end the open connection, or the SYN that waits beside it.
 *  - ICMP: a reply to no request, where policy allows it in its own direction; an error of a third
 *    party about a live conversation. An error that an end lets through may be that end's consent
 *    to the conversation.
 *  - Later fragments: after a change of policy or of endpoints, and if the datagram's first
 *    fragment came from another sender by the same address, or by none.
 *  - A frame that the node itself sends and that is of no conversation.
 */
#include "selftests/lib/sequence_model.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/packet.h"

enum { INGRESS, EGRESS };

/* The two ends as frames name them, independent of direction. */
struct side {
	struct place place;
	uint16_t port; /* ICMP: 1 at the end that sent the request */
};

struct key {
	struct side side[2];
	uint16_t id; /* ICMP */
	uint8_t version, protocol;
};

enum phase { FLOW, HALF, OPEN };

struct talk {
	struct key key;
	enum phase phase;
	uint8_t from, to; /* the actor that began it, and the other one */
	uint8_t identity; /* the policy identity of @from */
	uint32_t peers; /* the possible policy identities of @to, a bit each */
	uint16_t port;
	bool sure; /* false: the programs may not remember it */
	bool let[2]; /* by direction: the hook of @from ([EGRESS]) or @to has passed a frame */
	bool either; /* a passed frame may be a reply, or begin another */
	bool presumed; /* let[INGRESS] is presumed: frames went past the hook of @to, or astray */
	bool denied;
	int sure_until, maybe_until;
	/* TCP */
	/* By direction: a bit for each number that a SYN of the conversation had, and the number of
	 * the first SYN. A SYN with another number lives on its own: the life of the first one does
	 * not depend on it. */
	uint8_t numbers[2], first[2];
	bool answered, crossed, refused, replaced;
	bool vague; /* which RSTs are inside the window is not known */
	bool closed[2]; /* FIN */
	uint16_t crossing_port; /* if `crossed`: the port of the SYN in the other direction */
};

struct first {
	enum hook hook;
	uint8_t at, from, sender, version, protocol;
	struct place source, destination;
	uint16_t id;
	int end, until;
	bool sure;
};

#define TALKS_MAX 256

/* The model's reading of the last frame. */
struct reading {
	enum {
		NOTHING, /* of no conversation */
		EVALUATED, /* evaluated by policy alone, without effect */
		BEGINS,
		GOES_ON,
	} how;
	struct talk *talk; /* GOES_ON */
	bool completes; /* TCP: the end of a handshake */
	bool foreign; /* a source or handshake check may drop it first */
	bool vain; /* it may pass only because its hook audits */
};

struct model {
	const struct policies *policies;
	int now, guest; /* GUEST's role; -1: absent */
	struct talk talks[TALKS_MAX];
	int n_talks;
	struct first firsts[TALKS_MAX];
	int n_firsts;
	struct reading reading;
};

/* ---- words ---- */

static enum word both(enum word a, enum word b)
{
	return a == MUST_DROP || b == MUST_DROP ? MUST_DROP
	       : a == MAY || b == MAY		? MAY
						: MUST_PASS;
}

static enum word either(enum word a, enum word b)
{
	return a == b ? a : MAY;
}

/* ---- policy ---- */

static bool is_guarded(const struct model *m, unsigned int actor)
{
	return is_pod(actor) && (actor != GUEST || m->guest >= 0);
}

static unsigned int role_of(const struct model *m, unsigned int actor)
{
	return actor == GUEST ? (unsigned int)m->guest : actor;
}

/* Returns true if @subject's policy allows the flow with @peer. */
static bool allows(const struct model *m, unsigned int subject, int direction, unsigned int peer,
		   uint8_t protocol, uint16_t port)
{
	const struct rules *rules;
	bool ports = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;

	if (!is_guarded(m, subject) || is_audited(subject) || peer == subject)
		return true;
	if (peer == NODE)
		return direction == INGRESS || !m->policies->no_node[role_of(m, subject)];
	if (peer != NOBODY)
		peer = is_pod(peer) ? role_of(m, peer) : peer;
	rules = &m->policies->rules[role_of(m, subject)][direction];
	for (int i = 0; i < rules->n; i++)
		if ((rules->rule[i].peers & PEER_ANY ||
		     (peer != NOBODY && rules->rule[i].peers & PEER(peer))) &&
		    (rules->rule[i].ports == PORTS_ALL || (ports && port == 7)))
			return true;
	return !rules->isolates;
}

/* The owner of an address, where only the address identifies it. */
static unsigned int owner(const struct model *m, const struct place *place)
{
	if (place->kind != MAIN || (is_pod(place->actor) && !is_guarded(m, place->actor)))
		return NOBODY;
	return place->actor;
}

/* Guarded pods and the node are known by their interface, others by their source address only. */
static unsigned int sender_identity(const struct model *m, const struct step *step)
{
	return is_guarded(m, step->from) || step->from == NODE ? step->from
							       : owner(m, &step->source);
}

/* The possible destinations of the frame, as the sender's policy sees them. */
static uint32_t destination_peers(const struct model *m, const struct step *step,
				  const struct sight *sight)
{
	const struct place *to = &step->destination;
	bool bridged = is_on_bridge(step->from);
	uint32_t peers = 0;

	if (to->kind == LINK && !bridged)
		peers = PEER(NODE); /* beyond such a link there is only the node */
	else if (to->kind == LINK && (to->actor == NODE || is_bridged_pod(to->actor)))
		peers = PEER(to->actor);
	else if (!(to->kind == LINK && bridged && is_pod(step->mac_to)))
		peers = PEER(owner(m, to));
	if (bridged && is_guarded(m, step->mac_to))
		peers |= PEER(step->mac_to);
	if (sight->hook == HOOK_TO)
		peers |= PEER(sight->at);
	return peers;
}

/* ---- conversations ---- */

static bool is_group(const struct place *place)
{
	return place->kind == GROUP || place->kind == ALL;
}

static struct key key_of(const struct place *source, const struct place *destination,
			 const struct step *step, uint8_t protocol, uint16_t sport, uint16_t dport)
{
	struct side from = {*source, sport}, to = {*destination, dport};
	struct key key = {.version = step->version, .protocol = protocol};
	bool swap;

	if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) {
		key.id = sport;
		from.port = step->icmp != ICMP_REPLY;
		to.port = !from.port;
	} else if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_SCTP) {
		from.port = to.port = 0;
	}
	swap = memcmp(&from, &to, sizeof(from)) > 0;
	key.side[swap] = from;
	key.side[!swap] = to;
	return key;
}

static struct key step_key(const struct step *step)
{
	return key_of(&step->source, &step->destination, step, step->protocol, step->sport,
		      step->dport);
}

static bool may_live(const struct model *m, const struct talk *talk)
{
	return talk->maybe_until >= m->now;
}

static bool surely_lives(const struct model *m, const struct talk *talk)
{
	return talk->sure && talk->sure_until >= m->now;
}

static bool is_between(const struct talk *talk, unsigned int a, unsigned int b)
{
	return (talk->from == a && talk->to == b) || (talk->from == b && talk->to == a);
}

static struct talk *find(struct model *m, const struct key *key, enum phase phase, unsigned int a,
			 unsigned int b)
{
	for (int i = 0; i < m->n_talks; i++) {
		struct talk *talk = &m->talks[i];

		if (talk->phase == phase && !memcmp(&talk->key, key, sizeof(*key)) &&
		    is_between(talk, a, b) && may_live(m, talk))
			return talk;
	}
	return NULL;
}

/* Returns true if another pair holds the same addresses and ports. */
static bool is_held(const struct model *m, const struct key *key, unsigned int a, unsigned int b)
{
	for (int i = 0; i < m->n_talks; i++)
		if (!memcmp(&m->talks[i].key, key, sizeof(*key)) &&
		    !is_between(&m->talks[i], a, b) && may_live(m, &m->talks[i]))
			return true;
	return false;
}

static int life(const struct talk *talk)
{
	if (talk->phase == HALF)
		return TIMEOUT_HALF_OPEN;
	switch (talk->key.protocol) {
	case IPPROTO_TCP:
		return TIMEOUT_TCP;
	case IPPROTO_UDP:
		return TIMEOUT_UDP;
	case IPPROTO_SCTP:
		return TIMEOUT_SCTP;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return TIMEOUT_ICMP;
	}
	return TIMEOUT_OTHER;
}

/* Hosts without a hook are known by their source address only. */
static unsigned int sender(const struct model *m, const struct step *step)
{
	const struct place *source = &step->source;

	if (step->from == NODE || is_guarded(m, step->from) || source->kind != MAIN ||
	    source->actor == NODE || is_guarded(m, source->actor))
		return step->from;
	return source->actor;
}

/* The destination of the frame at this hook: at the sender's, the one that the frame names. */
static unsigned int addressee(const struct step *step, const struct sight *sight)
{
	const struct place *to = &step->destination;

	if (sight->hook == HOOK_TO)
		return sight->at;
	/* A link-local address on a link that is no bridge. */
	return to->kind == LINK && !is_on_bridge(step->from) ? (unsigned int)NODE : to->actor;
}

static enum word egress_word(const struct model *m, const struct talk *talk)
{
	bool yes = false, no = false;

	for (unsigned int peer = 0; peer <= NOBODY; peer++) {
		if (!(talk->peers & PEER(peer)))
			continue;
		if (allows(m, talk->from, EGRESS, peer, talk->key.protocol, talk->port))
			yes = true;
		else
			no = true;
	}
	return yes && no ? MAY : no ? MUST_DROP : MUST_PASS;
}

static enum word ingress_word(const struct model *m, const struct talk *talk, unsigned int of)
{
	return allows(m, of, INGRESS, talk->identity, talk->key.protocol, talk->port) ? MUST_PASS
										      : MUST_DROP;
}

/* The policies of both ends, in the direction in which the conversation began. */
static enum word ends_word(const struct model *m, const struct sight *sight,
			   const struct talk *talk)
{
	enum word egress = egress_word(m, talk), ingress = ingress_word(m, talk, talk->to);
	enum word own = egress, other = ingress;

	if (sight->hook == HOOK_TO)
		return both(egress, ingress);
	if (sight->at != talk->from) {
		own = ingress;
		other = egress;
	}
	/* Where another actor gets the frame, the policy of the address's owner may apply. */
	for (unsigned int peer = 0; sight->at == talk->from && peer < PODS; peer++)
		if (talk->peers & PEER(peer))
			other = both(other, ingress_word(m, talk, peer));
	return own == MUST_PASS && other != MUST_PASS ? MAY : own;
}

/* Returns true if the network carries a frame of a pod to the actor that it names. */
static bool is_carried_to(const struct sight *sight, unsigned int to)
{
	return sight->receiver == to || (!is_pod(sight->receiver) && !is_pod(to));
}

/* Returns true if the frame reaches another actor than its address's, or several. */
static bool strays(const struct step *step, const struct sight *sight)
{
	return step->mac_to == TO_ALL ||
	       (sight->hook == HOOK_FROM && !is_carried_to(sight, addressee(step, sight)));
}

/*
 * The same for a frame of the conversation. A frame that reaches its address's owner only is
 * evaluated by what the initiator may send there, whoever has got other frames of the conversation.
 */
static enum word frame_ends_word(const struct model *m, const struct step *step,
				 const struct sight *sight, const struct talk *talk)
{
	struct talk as = *talk;

	if (sender(m, step) == talk->from && !strays(step, sight))
		as.peers = destination_peers(m, step, sight);
	return ends_word(m, sight, &as);
}

/* The conversation that the frame would begin. */
static struct talk beginning(const struct model *m, const struct step *step,
			     const struct sight *sight)
{
	unsigned int to = addressee(step, sight);
	struct talk talk = {
		.key = step_key(step),
		.phase = step->protocol == IPPROTO_TCP ? HALF : FLOW,
		.from = sender(m, step),
		.to = to,
		.identity = sender_identity(m, step),
		.peers = destination_peers(m, step, sight),
		.port = step->dport,
	};
	bool own_source = step->source.actor == step->from &&
			  (step->source.kind == MAIN || step->source.kind == LINK);
	bool own_destination = step->destination.actor == to && step->destination.kind != SECOND;

	talk.sure = own_source && own_destination && !strays(step, sight) &&
		    !is_held(m, &talk.key, talk.from, talk.to);
	/*
	 * An actor without a hook allows everything; the hook of an absent destination may be
	 * skipped.
	 */
	talk.let[EGRESS] = !is_guarded(m, talk.from);
	talk.presumed = is_guarded(m, talk.to) && strays(step, sight);
	talk.let[INGRESS] = !is_guarded(m, talk.to) || talk.presumed;
	return talk;
}

/* If the conversation may have been forgotten, the frame may also be evaluated without it. */
static enum word unless_forgotten(const struct model *m, const struct talk *talk, enum word word,
				  enum word without)
{
	return surely_lives(m, talk) ? word : either(word, without);
}

/* ---- what is not TCP ---- */

/* Returns true if a frame to a group comes to the node, which has no hook, and nobody else, and
 * policy denies the node. */
static bool reaches_denied_node(const struct model *m, const struct step *step,
				const struct sight *sight)
{
	return sight->hook == HOOK_FROM && !is_on_bridge(step->from) &&
	       !allows(m, sender(m, step), EGRESS, NODE, step->protocol, step->dport);
}

static enum word flow_word(struct model *m, const struct step *step, const struct sight *sight)
{
	unsigned int from = sender(m, step), to = addressee(step, sight);
	struct key key = step_key(step);
	struct talk new = beginning(m, step, sight), *talk;
	enum word own = ends_word(m, sight, &new), word;

	m->reading.how = BEGINS;
	if (is_group(&step->destination)) {
		m->reading.how = EVALUATED;
		return reaches_denied_node(m, step, sight) ? MUST_DROP : own;
	}
	talk = find(m, &key, FLOW, from, to);
	if (talk && talk->from == from) {
		talk->peers |= new.peers;
		m->reading = (struct reading){.how = GOES_ON, .talk = talk};
		return talk->either ? MAY : frame_ends_word(m, step, sight, talk);
	}
	if (talk && talk->let[INGRESS]) {
		word = ends_word(m, sight, talk);
		m->reading = (struct reading){.how = GOES_ON, .talk = talk};
		talk->either |= !talk->sure && own != MUST_DROP;
		if (talk->either)
			return MAY;
		if (strays(step, sight)) /* it may answer any receiver */
			return word == MUST_DROP && own == MUST_DROP ? MUST_DROP : MAY;
		return unless_forgotten(m, talk, word, own);
	}
	if (step->icmp == ICMP_REPLY) {
		m->reading.how = EVALUATED;
		return own == MUST_DROP ? MUST_DROP : MAY;
	}
	return own;
}

/* ---- TCP ---- */

static bool acknowledges(const struct step *step, const struct talk *talk, int direction)
{
	return step->flags & TCP_A && talk->numbers[direction] & 1u << step->acknowledged;
}

static bool acknowledges_first(const struct step *step, const struct talk *talk, int direction)
{
	return acknowledges(step, talk, direction) && step->acknowledged == talk->first[direction];
}

/* The verdict in the direction of the other of two SYNs that crossed. */
static enum word crossing_word(const struct model *m, const struct sight *sight,
			       const struct talk *half)
{
	struct talk other = *half;

	other.from = half->to;
	other.to = half->from;
	other.identity = half->to;
	other.peers = PEER(half->from);
	other.port = half->crossing_port;
	return either(ends_word(m, sight, &other), MUST_DROP);
}

/* A segment that no handshake allows: it is dropped, perhaps before policy is asked. */
static enum word unjudged(struct model *m)
{
	m->reading.foreign = true;
	return MUST_DROP;
}

/* A segment of a handshake other than its SYN. */
static enum word half_word(struct model *m, const struct step *step, const struct sight *sight,
			   struct talk *half)
{
	bool responder = sender(m, step) == half->to;
	enum word word = ends_word(m, sight, half), unsure = either(word, MUST_DROP);
	bool known = surely_lives(m, half) && half->let[INGRESS] && !half->refused;

	m->reading = (struct reading){.how = GOES_ON, .talk = half};
	if (strays(step, sight))
		known = false;
	if (half->crossed) {
		m->reading.completes = !(step->flags & (TCP_S | TCP_R));
		half->sure = false;
		return either(unsure, crossing_word(m, sight, half));
	}
	if (step->flags & TCP_R)
		return acknowledges(step, half, responder) || step->number != WRONG_NUMBER
			       ? unsure
			       : unjudged(m);
	if (!acknowledges(step, half, responder))
		return unjudged(m);
	if (step->flags & TCP_S)
		return !responder					 ? unjudged(m)
		       : known && acknowledges_first(step, half, EGRESS) ? word
									 : unsure;
	if (!half->answered)
		return unjudged(m);
	if (responder)
		return unsure;
	m->reading.completes = true;
	return known && acknowledges_first(step, half, INGRESS) ? word : unsure;
}

static enum word open_word(struct model *m, const struct step *step, const struct sight *sight,
			   struct talk *open)
{
	enum word word = frame_ends_word(m, step, sight, open);
	bool initiator = sender(m, step) == open->from;

	m->reading = (struct reading){.how = GOES_ON, .talk = open};
	/* Either of two SYNs that crossed may have opened the connection. */
	if (open->crossed)
		return either(either(word, MUST_DROP), crossing_word(m, sight, open));
	/* A SYN-ACK comes from the responder; a RST counts only inside the window. */
	if ((step->flags & TCP_S && initiator) || open->replaced || strays(step, sight) ||
	    (step->flags & TCP_R && step->number != open->first[initiator]))
		return either(word, MUST_DROP);
	return unless_forgotten(m, open, word, MUST_DROP);
}

/*
 * A RST where a SYN waits beside an open connection refuses the SYN or closes the connection.
 * @word: the verdict for the open connection, which has been read.
 */
static enum word refusal_word(struct model *m, const struct step *step, const struct sight *sight,
			      struct talk *half, enum word word)
{
	struct reading reading = m->reading;
	enum word refusal = half_word(m, step, sight, half);

	m->reading = reading;
	if (refusal == MUST_DROP)
		return word;
	half->refused = true;
	reading.talk->sure = false;
	return word == MUST_PASS ? MUST_PASS : either(word, refusal);
}

static enum word tcp_word(struct model *m, const struct step *step, const struct sight *sight)
{
	unsigned int from = sender(m, step), to = addressee(step, sight);
	struct key key = step_key(step);
	struct talk *half, *open;
	enum word word;

	if ((step->flags & (TCP_S | TCP_A)) == TCP_S) {
		struct talk new = beginning(m, step, sight);

		m->reading.how = BEGINS;
		return ends_word(m, sight, &new);
	}
	if (is_group(&step->destination))
		return MUST_DROP;
	half = find(m, &key, HALF, from, to);
	open = find(m, &key, OPEN, from, to);
	if (!half && !open)
		return MUST_DROP;
	if (!open)
		return half_word(m, step, sight, half);
	word = open_word(m, step, sight, open);
	if (!half)
		return word;
	if (step->flags & TCP_R && !open->replaced)
		return refusal_word(m, step, sight, half, word);
	if (step->flags & TCP_S || open->replaced) {
		struct reading reading = m->reading;
		enum word handshake = half_word(m, step, sight, half);

		/*
		 * A SYN to a group leaves no state: the segment is then a late copy for the open
		 * connection.
		 */
		open->maybe_until = m->now + life(open);
		/* A handshake whose first frames have passed is certain to complete. */
		if (m->reading.completes && handshake == MUST_PASS)
			return MUST_PASS;
		if (handshake == MUST_DROP)
			m->reading = reading;
		return step->flags & TCP_S && handshake == MUST_PASS ? MUST_PASS
		       : either(word, handshake) == MUST_DROP	     ? MUST_DROP
								     : MAY;
	}
	return word;
}

/* ---- ICMP errors: about a live conversation, to the one whose packet they quote ---- */

static struct key error_key(const struct step *step)
{
	return key_of(&step->destination, &step->about, step, step->quoted, step->quoted_sport,
		      step->quoted_dport);
}

static enum word error_word(struct model *m, const struct step *step, const struct sight *sight)
{
	struct key key = error_key(step);
	unsigned int about = step->destination.actor, peer = step->about.actor;
	enum word word = MUST_DROP;
	bool third = step->from != peer && (is_pod(step->from) || is_pod(peer) || peer == NODE);

	for (int i = 0; i < m->n_talks; i++) {
		struct talk *talk = &m->talks[i];
		enum word ends;

		if (memcmp(&talk->key, &key, sizeof(key)) || !may_live(m, talk))
			continue;
		ends = ends_word(m, sight, talk);
		/* The denial at its hook is not known to other hooks. */
		if (step->about.kind == SECOND && egress_word(m, talk) != MUST_DROP)
			ends = MAY;
		/*
		 * The error may be about the other SYN, whose connection lives on beside this one.
		 */
		if (talk->crossed)
			ends = either(ends, crossing_word(m, sight, talk));
		if (m->reading.how == NOTHING)
			m->reading.how = EVALUATED;
		if (talk->either)
			ends = MAY;
		if (ends == MUST_DROP) {
			/*
			 * An error is subject to a denial as other frames are, if no earlier check
			 * drops it.
			 */
			m->reading =
				(struct reading){.how = GOES_ON, .talk = talk, .foreign = third};
			continue;
		}
		if (!m->reading.talk)
			m->reading.talk = talk;
		if (third || strays(step, sight) || !is_between(talk, about, peer) ||
		    !surely_lives(m, talk) || talk->phase == HALF || talk->replaced ||
		    !talk->let[0] || !talk->let[1] || step->source.actor != step->from ||
		    sight->at == NODE || addressee(step, sight) != about)
			ends = MAY;
		word = ends == MUST_PASS ? MUST_PASS : word == MUST_DROP ? MAY : word;
	}
	return word;
}

/* ---- fragments after the first ---- */

static enum word later_word(struct model *m, const struct step *step, const struct sight *sight)
{
	enum word word = MUST_DROP;

	m->reading.how = NOTHING;
	for (int i = 0; i < m->n_firsts; i++) {
		const struct first *first = &m->firsts[i];

		if (first->hook != sight->hook || first->at != sight->at ||
		    first->version != step->version || first->protocol != step->protocol ||
		    memcmp(&first->source, &step->source, sizeof(step->source)) ||
		    memcmp(&first->destination, &step->destination, sizeof(step->destination)) ||
		    first->id != step->id || first->until < m->now)
			continue;
		if (first->sender != sender(m, step))
			word = word == MUST_PASS ? MAY : word;
		else if (first->from != step->from)
			word = MAY;
		else if (step->fragment_at < first->end)
			word = word == MUST_PASS ? MAY : word;
		else
			word = first->sure ? MUST_PASS : MAY;
	}
	return word;
}

/* ---- the hooks ---- */

static bool is_dhcp(const struct step *step)
{
	return step->version == 4 && step->protocol == IPPROTO_UDP && step->sport == 68 &&
	       step->dport == 67;
}

/* Returns true if policy knows no owner of the source. */
static bool is_unknown(const struct model *m, const struct step *step)
{
	const struct place *source = &step->source;

	if (source->kind == SECOND)
		return source->actor == step->from;
	return source->kind == MAIN && source->actor != NODE && !is_guarded(m, source->actor);
}

/* Returns true if a link-local source is known as another actor's on the bridge. */
static bool is_taken(const struct step *step)
{
	unsigned int holder = step->source.actor;

	return is_on_bridge(step->from) && holder != step->from &&
	       (holder == NODE || is_bridged_pod(holder));
}

/* An endpoint may send only with its own source. */
static enum word source_word(const struct model *m, const struct step *step,
			     const struct sight *sight)
{
	const struct place *source = &step->source;

	if (sight->hook == HOOK_FROM) {
		if (step->mac_from != step->from)
			return MUST_DROP;
		if (source->kind == LINK)
			return source->actor == step->from ? MUST_PASS
			       : is_taken(step)		   ? MUST_DROP
							   : MAY;
		if (source->kind == UNSPECIFIED)
			return step->fragment_at ? MAY : is_dhcp(step) ? MUST_PASS : MUST_DROP;
		if (is_unknown(m, step))
			return m->reading.how == GOES_ON || step->fragment_at ? MAY : MUST_DROP;
		return source->kind == MAIN && source->actor == step->from ? MUST_PASS : MUST_DROP;
	}
	/* No other actor may send with an endpoint's source. */
	if (source->kind == MAIN && is_guarded(m, source->actor) && source->actor != step->from)
		return MUST_DROP;
	return MUST_PASS;
}

/* LAN's or OUTSIDE's hook. Policy does not apply there, but a SYN may be dropped early. */
static enum word entry_word(struct model *m, const struct step *step, const struct sight *sight)
{
	unsigned int claimed = owner(m, &step->source), to = owner(m, &step->destination);

	m->reading.how = NOTHING;
	if (sight->hook == HOOK_PORT && (is_bridged_pod(step->mac_from) || step->mac_from == NODE))
		return is_audited(step->mac_from) ? MAY : MUST_DROP;
	if (is_audited(claimed) && is_audited(to))
		return MUST_PASS;
	if (is_pod(claimed) || claimed == NODE)
		return MUST_DROP;
	if (step->source.kind == LINK && step->source.actor != step->from)
		return is_taken(step) && !is_audited(step->source.actor) ? MUST_DROP : MAY;
	if (sight->hook == HOOK_UPLINK && step->protocol == IPPROTO_TCP && is_pod(to) &&
	    step->flags == TCP_S && !step->fragment_at &&
	    !allows(m, to, INGRESS, sender_identity(m, step), IPPROTO_TCP, step->dport))
		return MAY;
	return MUST_PASS;
}

static enum word frame_word(struct model *m, const struct step *step, const struct sight *sight)
{
	if (step->fragment_at)
		return later_word(m, step, sight);
	if (step->icmp == ICMP_ERROR)
		return error_word(m, step, sight);
	if (step->protocol == IPPROTO_TCP)
		return tcp_word(m, step, sight);
	return flow_word(m, step, sight);
}

enum word model_says(struct model *m, const struct step *step, const struct sight *sight)
{
	enum word source, word;

	m->reading = (struct reading){.how = NOTHING};
	if (sight->hook == HOOK_PORT || sight->hook == HOOK_UPLINK)
		return entry_word(m, step, sight);
	word = frame_word(m, step, sight);
	source = source_word(m, step, sight);
	if (source == MUST_DROP) {
		bool denied = word == MUST_DROP && m->reading.how != NOTHING;

		m->reading.how = NOTHING;
		return !is_audited(sight->at) ? MUST_DROP : denied ? MAY : MUST_PASS;
	}
	m->reading.foreign |= source == MAY;
	if (source == MAY && word == MUST_PASS)
		word = MAY;
	/*
	 * A frame of no conversation passes without effect; a frame that the other end denies may
	 * be dropped.
	 */
	if (is_audited(sight->at) && word != MUST_PASS) {
		bool drops = word == MUST_DROP;

		word = m->reading.how == NOTHING ? MUST_PASS : MAY;
		m->reading.vain = true;
		if (drops)
			m->reading.how = NOTHING;
	}
	if (step->from == NODE && word == MUST_DROP)
		word = MAY;
	return word;
}

/* ---- what the hooks did ---- */

static void touch(struct model *m, struct talk *talk)
{
	talk->denied = false;
	talk->sure_until = talk->maybe_until = m->now + life(talk);
	if (talk->closed[0] && talk->closed[1])
		talk->sure_until = m->now + TIMEOUT_TCP_CLOSING;
}

/* The conversation may live no longer than @seconds from now. */
static void expect_end(const struct model *m, struct talk *talk, int seconds)
{
	if (talk->sure_until > m->now + seconds)
		talk->sure_until = m->now + seconds;
}

static bool has_second(const struct talk *talk)
{
	return talk->key.side[0].place.kind == SECOND || talk->key.side[1].place.kind == SECOND;
}

/*
 * An end that has passed frames now denies the conversation: the denial stays for a time that
 * frames do not extend.
 */
static void deny(struct model *m, const struct sight *sight, struct talk *talk)
{
	bool was[2] = {talk->let[INGRESS] && ingress_word(m, talk, talk->to) != MUST_PASS,
		       talk->let[EGRESS] && egress_word(m, talk) != MUST_PASS};

	if (talk->denied || !(was[0] || was[1]))
		return;
	/* The frame may have been denied as part of another conversation, or of none; an end that
	 * has let through nothing denies no conversation; the denial for an address that policy
	 * does not know is not known to other hooks. */
	if (m->reading.foreign || talk->either || talk->crossed ||
	    (!was[EGRESS] && (talk->presumed || has_second(talk)))) {
		expect_end(m, talk, TIMEOUT_DENIED);
		return;
	}
	talk->denied = true;
	talk->maybe_until = m->now + TIMEOUT_DENIED;
	if (talk->sure_until > talk->maybe_until ||
	    (sight->hook == HOOK_TO && surely_lives(m, talk)))
		talk->sure_until = talk->maybe_until;
}

static struct talk *add(struct model *m, const struct talk *talk)
{
	if (m->n_talks == TALKS_MAX)
		abort();
	m->talks[m->n_talks] = *talk;
	return &m->talks[m->n_talks++];
}

static void forget(struct model *m, struct talk *talk)
{
	*talk = m->talks[--m->n_talks];
}

static void let(const struct sight *sight, struct talk *talk)
{
	if (sight->at == talk->from)
		talk->let[EGRESS] = true;
	if (sight->at == talk->to) {
		talk->let[INGRESS] = true;
		talk->presumed = false;
	}
}

/* As touch(), for a frame of a handshake. @number: of the SYN that the frame is, or answers. */
static void touch_half(struct model *m, struct talk *half, unsigned int number)
{
	if (number == half->first[EGRESS])
		touch(m, half);
	else
		half->maybe_until = m->now + life(half);
}

static void begin(struct model *m, const struct step *step, const struct sight *sight)
{
	struct talk new = beginning(m, step, sight), *old;
	uint8_t bit = 1u << step->number;

	old = find(m, &new.key, new.phase, new.from, new.to);
	if (old && new.phase == HALF && old->from == new.from) {
		old->numbers[EGRESS] |= bit;
		let(sight, old);
		touch_half(m, old, step->number);
		return;
	}
	if (old && new.phase == HALF) {
		new.crossed = true;
		new.crossing_port = old->port;
		new.numbers[INGRESS] = old->numbers[EGRESS];
	}
	if (old) {
		new.sure &= old->sure;
		/* A frame with several receivers may leave the other conversation as it is. */
		new.either = new.phase == FLOW &&strays(step, sight);
		forget(m, old);
	}
	if (new.phase == HALF) {
		new.numbers[EGRESS] |= bit;
		new.first[EGRESS] = step->number;
	}
	old = add(m, &new);
	let(sight, old);
	touch(m, old);
}

static void complete(struct model *m, const struct step *step, const struct sight *sight,
		     struct talk *half)
{
	struct talk new = *half, *old;

	new.phase = OPEN;
	/* Any of several SYNs may have opened the connection. */
	new.vague = new.numbers[0] & (new.numbers[0] - 1) || new.numbers[1] & (new.numbers[1] - 1);
	new.sure &= !strays(step, sight) && !m->reading.vain;
	new.closed[1] = !!(step->flags & TCP_F);
	forget(m, half);
	old = find(m, &new.key, OPEN, new.from, new.to);
	if (old)
		forget(m, old);
	old = add(m, &new);
	let(sight, old);
	touch(m, old);
}

static void hear_tcp(struct model *m, const struct step *step, struct talk *talk)
{
	bool initiator = sender(m, step) == talk->from;
	struct talk *open;

	if (talk->phase == OPEN) {
		if (step->flags & TCP_F)
			talk->closed[initiator] = true;
		/* An end that acknowledges a number that was never sent moves the window there. */
		if (step->flags & TCP_A && step->acknowledged == WRONG_NUMBER)
			talk->vague = true;
		/* A RST outside the window may end the connection by what it acknowledges. */
		if (step->flags & TCP_R &&
		    (talk->vague || (step->flags & TCP_A && step->acknowledged != WRONG_NUMBER &&
				     step->number != talk->first[initiator])))
			talk->sure = false;
		if (step->flags & TCP_R && step->number == talk->first[initiator])
			talk->closed[0] = talk->closed[1] = true;
		return;
	}
	if (step->flags & TCP_R)
		talk->refused = true;
	if (step->flags & TCP_F && !initiator)
		talk->closed[0] = true;
	if (!(step->flags & TCP_S) || (initiator && !talk->crossed))
		return;
	if (!talk->numbers[INGRESS])
		talk->first[INGRESS] = step->number;
	talk->numbers[INGRESS] |= 1u << step->number;
	talk->answered = true;
	open = find(m, &talk->key, OPEN, talk->from, talk->to);
	if (open)
		open->replaced = true;
}

static void go_on(struct model *m, const struct step *step, const struct sight *sight, bool passed)
{
	struct talk *talk = m->reading.talk;
	bool allowed = ends_word(m, &(struct sight){.hook = HOOK_TO}, talk) != MUST_DROP;

	if (!passed) {
		if (!allowed)
			deny(m, sight, talk);
		return;
	}
	if (m->reading.completes) {
		complete(m, step, sight, talk);
		return;
	}
	let(sight, talk);
	if (step->protocol == IPPROTO_TCP)
		hear_tcp(m, step, talk);
	/* The frame may have passed for another reason than a remembered conversation. */
	if (!surely_lives(m, talk) || m->reading.vain) {
		talk->maybe_until = m->now + life(talk);
		if (talk->closed[0] && talk->closed[1])
			expect_end(m, talk, TIMEOUT_TCP_CLOSING);
		return;
	}
	if (step->protocol == IPPROTO_TCP && step->flags & TCP_R && talk->phase == OPEN &&
	    step->number != talk->first[sender(m, step) == talk->from])
		talk->maybe_until = m->now + life(talk); /* outside the window: no effect */
	else if (allowed && talk->phase == HALF && sender(m, step) == talk->to)
		touch_half(m, talk, step->acknowledged);
	else if (allowed)
		touch(m, talk);
	else if (!talk->denied)
		talk->maybe_until = m->now + life(talk);
}

/* An end that passes an error about a conversation may thereby have consented to it. */
static void hear_error(struct model *m, const struct step *step, const struct sight *sight)
{
	struct key key = error_key(step);

	for (int i = 0; i < m->n_talks; i++) {
		struct talk *talk = &m->talks[i];
		bool before[2] = {talk->let[0], talk->let[1]};

		if (memcmp(&talk->key, &key, sizeof(key)) || !may_live(m, talk))
			continue;
		let(sight, talk);
		if (memcmp(before, talk->let, sizeof(before)))
			talk->sure = false;
	}
}

static void remember_first(struct model *m, const struct step *step, const struct sight *sight)
{
	if (m->n_firsts == TALKS_MAX)
		abort();
	m->firsts[m->n_firsts++] = (struct first){
		.hook = sight->hook,
		.at = sight->at,
		.from = step->from,
		.sender = sender(m, step),
		.version = step->version,
		.protocol = step->protocol,
		.source = step->source,
		.destination = step->destination,
		.id = step->id,
		.end = step->fragment_at + 8 + step->payload,
		.until = m->now + TIMEOUT_FRAGMENT,
		.sure = true,
	};
}

void model_told(struct model *m, const struct step *step, const struct sight *sight, bool passed)
{
	if (sight->hook == HOOK_PORT || sight->hook == HOOK_UPLINK)
		return;
	if (step->icmp == ICMP_ERROR) {
		if (passed)
			hear_error(m, step, sight);
		else if (m->reading.how == GOES_ON)
			go_on(m, step, sight, false);
		return;
	}
	if (m->reading.how == GOES_ON)
		go_on(m, step, sight, passed);
	else if (m->reading.how == BEGINS && passed)
		begin(m, step, sight);
	if (passed && step->more && !step->fragment_at)
		remember_first(m, step, sight);
}

/* ---- calls that cross ---- */

bool model_knows(const struct model *m, const struct step *step)
{
	struct key key = step_key(step);

	for (int i = 0; i < m->n_talks; i++)
		if (!memcmp(&m->talks[i].key, &key, sizeof(key)) && m->talks[i].let[INGRESS] &&
		    may_live(m, &m->talks[i]))
			return true;
	return false;
}

void model_doubt(struct model *m, const struct step *step)
{
	struct key key = step_key(step);

	for (int i = 0; i < m->n_talks; i++)
		if (!memcmp(&m->talks[i].key, &key, sizeof(key)))
			m->talks[i].sure = false;
}

/* ---- time and change ---- */

struct model *model_new(void)
{
	return calloc(1, sizeof(struct model));
}

void model_free(struct model *m)
{
	free(m);
}

void model_copy(struct model *m, const struct model *other)
{
	m->policies = other->policies;
	m->now = other->now;
	m->guest = other->guest;
	m->n_talks = other->n_talks;
	m->n_firsts = other->n_firsts;
	memcpy(m->talks, other->talks, other->n_talks * sizeof(*m->talks));
	memcpy(m->firsts, other->firsts, other->n_firsts * sizeof(*m->firsts));
	m->reading = (struct reading){.how = NOTHING};
}

bool model_equals(const struct model *a, const struct model *b)
{
	return a->policies == b->policies && a->now == b->now && a->guest == b->guest &&
	       a->n_talks == b->n_talks && a->n_firsts == b->n_firsts &&
	       !memcmp(a->talks, b->talks, a->n_talks * sizeof(*a->talks)) &&
	       !memcmp(a->firsts, b->firsts, a->n_firsts * sizeof(*a->firsts));
}

void model_begin(struct model *m, const struct policies *policies)
{
	*m = (struct model){.policies = policies, .guest = GUEST};
}

static void doubt_fragments(struct model *m)
{
	for (int i = 0; i < m->n_firsts; i++)
		m->firsts[i].sure = false;
}

void model_flip(struct model *m, const struct policies *policies)
{
	m->policies = policies;
	doubt_fragments(m);
}

/* The actor's own address, which vanishes with it. */
static bool has_address_of(const struct talk *talk, unsigned int actor)
{
	const struct side *side = talk->key.side;

	return (side[0].place.actor == actor && side[0].place.kind == MAIN) ||
	       (side[1].place.actor == actor && side[1].place.kind == MAIN);
}

void model_leave(struct model *m)
{
	if (m->guest < 0)
		return;
	m->guest = -1;
	doubt_fragments(m);
	for (int i = m->n_talks - 1; i >= 0; i--) {
		struct talk *talk = &m->talks[i];

		if (talk->from != GUEST && talk->to != GUEST)
			continue;
		if (has_address_of(talk, GUEST))
			forget(m, talk);
		else
			talk->sure = false;
	}
}

void model_arrive(struct model *m, unsigned int role)
{
	m->guest = role;
	doubt_fragments(m);
	for (int i = 0; i < m->n_talks; i++) {
		struct talk *talk = &m->talks[i];

		if (talk->from != GUEST && talk->to != GUEST)
			continue;
		talk->sure = false;
		if (talk->to == GUEST)
			talk->peers |= PEER(GUEST);
	}
}

void model_wait(struct model *m, unsigned int seconds)
{
	m->now += seconds;
}

bool model_has_guest(const struct model *m)
{
	return m->guest >= 0;
}
