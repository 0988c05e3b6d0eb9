// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model keeps two lists. Arrivals: which actor has sent which packet to whom, as the receiver
 * saw it. Talks: what a call's packets looked like, and where they were last going.
 *
 * A packet may arrive if policy allows its true sender to call its true receiver at the port where
 * it arrives, or if it answers an arrival: it goes back from where the receiver was called to
 * whence, as either of both saw it, it reaches the actor that called, and policy still allows that
 * call. A packet that was dropped counts as an arrival once policy allows its call: its sender
 * consents to answers. The model knows neither conntrack nor translation.
 *
 * An ICMP error may arrive if it quotes a packet that its receiver has sent, or could answer, by a
 * call that policy still allows. Any router on the way may send it.
 *
 * A packet must arrive if policy allows it and it is
 *  - a SYN, an INIT or any datagram of a call: wherever the node sends it, or, if it was dropped
 *    before, wherever the node could send it. SCTP that may be masqueraded is left out: the kernel
 *    does not tell whom it comes from;
 *  - of a call that has been let through, in the order of a handshake, as long as neither conntrack
 *    nor the programs have forgotten, no end has closed it, and policy has always allowed it;
 *  - an ICMP error that an end of such a call sends about a packet of it.
 */
#include "selftests/lib/translation_model.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { INGRESS, EGRESS };

enum phase { CALLED, HALF, ANSWERED, OPEN };

struct talk {
	bool used;
	struct step call;
	struct flow sent;
	bool shown; /* it came to an exit of the node */
	unsigned int to; /* there: whom it went to */
	struct flow seen;
	/* For what must arrive. */
	enum phase phase;
	int epoch; /* of the phase */
	bool masked; /* a packet of it could have been masqueraded */
	bool clean; /* TCP: no other call had its addresses and ports */
	bool over; /* somebody has closed it, or policy has denied it */
};

struct arrival {
	unsigned int at, from;
	struct flow sent, seen; /* as the sender sent it, and the receiver saw it */
	bool answers; /* an earlier one */
};

struct model {
	const struct policies *policies;
	int epoch; /* changes where conntrack or the programs forget */
	struct talk talks[STEPS_MAX]; /* by id */
	struct arrival arrivals[STEPS_MAX];
	int n_arrivals;
	int untold; /* of the arrivals, those that conntrack has forgotten */
};

/* ---- policy ---- */

static bool admits(const struct model *m, unsigned int subject, int direction, unsigned int peer,
		   uint16_t port)
{
	const struct rules *rules;

	if (!is_pod(subject) || peer == NODE || peer == subject)
		return true;
	rules = &m->policies->rules[subject][direction];
	return !rules->isolates || (peer != NOBODY && rules->peers & 1u << peer &&
				    (!rules->one_port || port == PORT_OPEN));
}

static bool allows(const struct model *m, unsigned int from, unsigned int to, uint16_t port)
{
	return admits(m, from, EGRESS, to, port) && admits(m, to, INGRESS, from, port);
}

/* Returns true if policy allows a call of @from to every place where it could end. */
static bool allows_all(const struct model *m, const struct step *call)
{
	const uint8_t *backends = service_backends[call->to];

	if (call->target == DIRECT)
		return allows(m, call->actor, call->to, call->other_port ? PORT_OTHER : PORT_OPEN);
	for (int i = 0; i < BACKENDS && backends[i] != NOBODY; i++)
		if (!allows(m, call->actor, backends[i], PORT_OPEN))
			return false;
	return true;
}

/* ---- packets ---- */

static bool same(const struct flow *a, const struct flow *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct flow reverse(const struct flow *flow)
{
	struct flow back = *flow;

	back.from = flow->to;
	back.to = flow->from;
	return back;
}

static void begin_talk(struct model *m, const struct step *step)
{
	struct talk *talk = &m->talks[step->id], new = {.used = true, .call = *step, .clean = true};

	new.sent.version = step->version;
	new.sent.protocol = step->protocol;
	new.sent.from = place_of(step->actor, step->version, port_of_caller(step));
	new.sent.to = place_called(step);
	for (int i = 0; i < STEPS_MAX; i++)
		if (m->talks[i].used && same(&m->talks[i].sent, &new.sent)) {
			new.clean = false;
			new.masked |= m->talks[i].masked;
			m->talks[i].over |= step->protocol != IPPROTO_UDP;
		}
	*talk = new;
}

static bool is_error(const struct step *step)
{
	return step->kind == ERROR || step->kind == ERROR_ASTRAY;
}

/* Makes the ICMP error about the last packet of a call, as it was where it went, or about a reply,
 * as it is where the call came from. */
static bool make_error(const struct talk *talk, const struct step *step, struct sending *sending)
{
	unsigned int end = step->of_reply ? talk->call.actor : talk->to;

	if (!talk->shown || talk->to == NOBODY)
		return false;
	*sending = (struct sending){
		.actor = step->kind == ERROR ? end : step->actor,
		.peer = step->of_reply ? talk->to : talk->call.actor,
		.error = true,
		.quoted = step->of_reply ? reverse(&talk->sent) : talk->seen,
	};
	sending->flow = sending->quoted;
	sending->flow.from = place_of(sending->actor, step->version, 0);
	sending->flow.to = sending->quoted.from;
	sending->flow.to.port = 0;
	return place_owner(&sending->flow.to, step->version) != sending->actor;
}

bool translation_model_packet(struct model *m, const struct step *step, struct sending *sending)
{
	struct talk *talk = &m->talks[step->id];

	if (step->kind == CALL)
		begin_talk(m, step);
	if (step->kind > ERROR_ASTRAY || !talk->used)
		return false;
	if (is_error(step))
		return make_error(talk, step, sending);
	*sending =
		(struct sending){.actor = talk->call.actor, .peer = talk->to, .flow = talk->sent};
	if (step->kind <= AGAIN)
		return true;
	if (!talk->shown || talk->to == NOBODY)
		return false;
	*sending = (struct sending){
		.actor = talk->to, .peer = talk->call.actor, .flow = reverse(&talk->seen)};
	if (step->kind == REPLY)
		return true;
	sending->actor = step->actor;
	sending->flow.from = place_of(step->actor, step->version, sending->flow.from.port);
	return sending->actor != talk->to &&
	       place_owner(&sending->flow.to, step->version) != sending->actor;
}

/* ---- words ---- */

static bool is_reverse(const struct flow *flow, const struct flow *of)
{
	struct flow back = reverse(of);

	return same(flow, &back);
}

/* A SYN answers only if its sender meant it so: else it is a call, whatever it looks like behind
 * the translation. */
static bool answers(const struct model *m, const struct step *step, const struct sending *sending,
		    const struct fate *fate)
{
	bool calls = step->protocol == IPPROTO_TCP && step->segment == SYN;

	for (int i = 0; i < m->n_arrivals; i++) {
		const struct arrival *arrival = &m->arrivals[i];

		if (arrival->at == sending->actor && arrival->from == fate->actor &&
		    (is_reverse(&sending->flow, &arrival->seen) ||
		     (!calls && (is_reverse(&fate->flow, &arrival->seen) ||
				 is_reverse(&fate->flow, &arrival->sent)))) &&
		    allows(m, arrival->from, arrival->at, arrival->seen.to.port))
			return true;
	}
	return false;
}

/* Returns true if the packet is of a call of the sender's own, which has gone out as it was sent.
 */
static bool is_own_call(const struct model *m, const struct sending *sending)
{
	for (int i = m->untold; i < m->n_arrivals; i++)
		if (m->arrivals[i].from == sending->actor &&
		    same(&m->arrivals[i].sent, &sending->flow) &&
		    same(&m->arrivals[i].seen, &sending->flow))
			return true;
	return false;
}

/* Returns true if the packet goes back the way of a call, and the node replaces its source: to its
 * sender and to its receiver it is an answer, and no call. Of SCTP nobody can tell that. */
static bool is_answer(const struct model *m, const struct sending *sending, const struct fate *fate)
{
	for (int i = m->untold; i < m->n_arrivals && fate->flow.protocol != IPPROTO_SCTP; i++) {
		const struct arrival *arrival = &m->arrivals[i];

		if (arrival->at == sending->actor && arrival->from == fate->actor &&
		    !arrival->answers && is_reverse(&sending->flow, &arrival->seen) &&
		    is_reverse(&fate->flow, &arrival->sent))
			return memcmp(sending->flow.from.address, fate->flow.from.address,
				      sizeof(fate->flow.from.address));
	}
	return false;
}

static bool opens(const struct step *step)
{
	return step->kind <= AGAIN && (step->segment == SYN || step->protocol == IPPROTO_UDP);
}

/* Returns true if the node has changed the caller's port, and not the address: two calls of the
 * caller would have been the same where they end. */
static bool is_shifted(const struct talk *talk)
{
	return !memcmp(talk->seen.from.address, talk->sent.from.address,
		       sizeof(talk->sent.from.address)) &&
	       talk->seen.from.port != talk->sent.from.port;
}

/* Returns true if a pod has called itself at the port that it called from: nothing tells the call
 * from its answer. */
static bool is_circle(const struct talk *talk)
{
	return !memcmp(&talk->seen.from, &talk->seen.to, sizeof(talk->seen.to));
}

/* Returns true if a call has been let through, and nothing has disturbed it. */
static bool is_undisturbed(const struct model *m, const struct talk *talk)
{
	return !talk->over && talk->epoch == m->epoch && talk->phase >= HALF &&
	       (talk->sent.protocol != IPPROTO_TCP || talk->clean) && !is_shifted(talk) &&
	       !is_circle(talk) && talk->call.actor != NODE && talk->to != NODE;
}

/* Returns true if the packet is the next one of such a call. */
static bool goes_on(const struct model *m, const struct step *step, const struct talk *talk)
{
	bool tcp = step->protocol == IPPROTO_TCP;

	if (step->kind == ASTRAY || !is_undisturbed(m, talk))
		return false;
	if (step->protocol == IPPROTO_UDP)
		return true;
	if (step->kind == REPLY && step->segment == SYN_ACK)
		return talk->phase <= ANSWERED && (tcp || talk->phase == HALF);
	return tcp && (step->segment == ACK || step->segment == FIN) &&
	       (talk->phase == OPEN || (talk->phase == ANSWERED && step->kind == AGAIN));
}

static bool is_isolated(const struct model *m, unsigned int actor)
{
	return is_pod(actor) &&
	       (m->policies->rules[actor][0].isolates || m->policies->rules[actor][1].isolates);
}

/* Returns true if a call's backends may differ to policy. */
static bool calls_several(const struct step *call)
{
	const uint8_t *backends = service_backends[call->to];

	return backends[1] != NOBODY || backends[0] == call->actor;
}

/* Returns true if nobody can tell whose the packet is: SCTP that the node may masquerade, and of an
 * isolated pod to several backends or to a NodePort, where it may be a reply. */
static bool is_untold(const struct model *m, const struct step *step, const struct talk *talk)
{
	if (step->protocol != IPPROTO_SCTP)
		return false;
	return talk->call.target == MASKED || step->mode != PLAIN || talk->masked ||
	       (is_isolated(m, talk->call.actor) &&
		(talk->call.target == KEPT ||
		 (talk->call.target == CLUSTER && calls_several(&talk->call))));
}

static bool must_pass(const struct model *m, const struct step *step, const struct talk *talk,
		      const struct fate *fate)
{
	if (is_untold(m, step, talk))
		return false;
	if (goes_on(m, step, talk))
		return !fate->shown ||
		       fate->actor == (step->kind == REPLY ? talk->call.actor : talk->to);
	if (!opens(step))
		return false;
	if (!fate->shown)
		return !fate->entered && allows_all(m, &talk->call);
	return fate->actor != NOBODY && fate->actor != NODE &&
	       allows(m, talk->call.actor, fate->actor, fate->flow.to.port);
}

/* ---- ICMP errors ---- */

static bool is_allowed(const struct model *m, const struct arrival *arrival)
{
	return allows(m, arrival->from, arrival->at, arrival->seen.to.port) ||
	       (arrival->answers && allows(m, arrival->at, arrival->from, arrival->sent.from.port));
}

/* Returns true if the error quotes a packet that its receiver has sent, as the receiver sent it or
 * as somebody on the way saw it, or an answer that it could have sent. */
static bool quotes_own(const struct model *m, const struct sending *sending,
		       const struct fate *fate)
{
	for (int i = 0; i < m->n_arrivals; i++) {
		const struct arrival *arrival = &m->arrivals[i];

		/* what a router says concerns the policy of the receiver alone */
		if (!is_pod(sending->actor) && arrival->from == fate->actor &&
		    same(&fate->quoted, &arrival->sent) &&
		    admits(m, arrival->from, EGRESS, arrival->at, arrival->seen.to.port))
			return true;
		if (!is_allowed(m, arrival))
			continue;
		if (arrival->from == fate->actor &&
		    (same(&fate->quoted, &arrival->sent) || same(&fate->quoted, &arrival->seen) ||
		     same(&sending->quoted, &arrival->seen)))
			return true;
		if (arrival->at == fate->actor && (is_reverse(&fate->quoted, &arrival->seen) ||
						   is_reverse(&fate->quoted, &arrival->sent)))
			return true;
	}
	return false;
}

static enum word evaluate_error(const struct model *m, const struct step *step,
				const struct sending *sending, const struct fate *fate)
{
	const struct talk *talk = &m->talks[step->id];

	if (fate->shown && (is_pod(fate->actor) || is_pod(sending->actor)) && fate->actor != NODE &&
	    sending->actor != NODE && !quotes_own(m, sending, fate))
		return MUST_DROP;
	/* of a reply, there has to be one */
	if (step->kind == ERROR_ASTRAY || !is_undisturbed(m, talk) || is_untold(m, step, talk) ||
	    (step->of_reply && talk->phase < ANSWERED))
		return MAY;
	return fate->shown     ? fate->actor == sending->peer ? MUST_PASS : MAY
	       : fate->entered ? MAY
			       : MUST_PASS;
}

/* ---- what became of it ---- */

static void advance(const struct model *m, struct talk *talk, const struct step *step)
{
	if (opens(step) && (talk->phase < HALF || talk->epoch != m->epoch)) {
		talk->phase = HALF;
		talk->epoch = m->epoch;
		talk->over = false;
	} else if (step->kind == REPLY && step->segment == SYN_ACK && talk->phase == HALF) {
		talk->phase = ANSWERED;
	} else if (step->kind == AGAIN && step->segment == ACK && talk->phase == ANSWERED) {
		talk->phase = OPEN;
	}
}

/* Returns true if a packet ends a call, or may end it: by a SYN the called one calls itself. */
static bool ends(const struct step *step)
{
	return step->segment >= FIN || step->kind == ASTRAY ||
	       (step->kind == REPLY && step->segment == SYN);
}

/* Notes that a packet ends the calls of which it is one, or may end them. */
static void end(struct model *m, const struct flow *flow)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		struct talk *talk = &m->talks[i];

		talk->over |= talk->used && (same(&talk->sent, flow) ||
					     (talk->shown && is_reverse(flow, &talk->seen)));
	}
}

/* Notes that calls have the same addresses and ports where they end. */
static void meet(struct model *m, struct talk *talk, const struct flow *seen)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		struct talk *other = &m->talks[i];

		if (other != talk && other->shown && same(&other->seen, seen))
			other->clean = talk->clean = false;
	}
}

enum word translation_model_evaluate(struct model *m, const struct step *step,
				     const struct sending *sending, const struct fate *fate)
{
	struct talk *talk = &m->talks[step->id];
	unsigned int actor = sending->actor;
	bool may_call = actor == NODE || allows(m, actor, fate->actor, fate->flow.to.port),
	     answer = answers(m, step, sending, fate),
	     allowed = answer ||
		       (may_call && (actor == NODE || step->kind <= AGAIN ||
				     is_own_call(m, sending) || !is_answer(m, sending, fate)));
	enum word word = MAY;

	if (sending->error)
		return evaluate_error(m, step, sending, fate);
	if (fate->shown && !allowed)
		word = MUST_DROP;
	else if (must_pass(m, step, talk, fate))
		word = MUST_PASS;
	talk->masked |= step->mode != PLAIN;
	if (fate->shown && step->kind <= AGAIN) {
		meet(m, talk, &fate->flow);
		talk->shown = true;
		talk->to = fate->actor;
		talk->seen = fate->flow;
	}
	if (fate->shown)
		m->arrivals[m->n_arrivals++] =
			(struct arrival){fate->actor, actor, sending->flow, fate->flow, answer};
	if (fate->arrived && (may_call || step->kind == REPLY))
		advance(m, talk, step);
	if (step->protocol != IPPROTO_UDP && ends(step))
		end(m, &sending->flow);
	return word;
}

/* ---- time and change ---- */

struct model *translation_model_new(void)
{
	return calloc(1, sizeof(struct model));
}

void translation_model_free(struct model *m)
{
	free(m);
}

void translation_model_begin(struct model *m, const struct policies *policies)
{
	*m = (struct model){.policies = policies};
}

void translation_model_flip(struct model *m, const struct policies *policies)
{
	m->policies = policies;
	for (int i = 0; i < STEPS_MAX; i++) {
		struct talk *talk = &m->talks[i];

		if (talk->shown)
			talk->over |= !allows(m, talk->call.actor, talk->to, talk->seen.to.port);
	}
}

void translation_model_forget(struct model *m)
{
	translation_model_disturb(m);
	m->untold = m->n_arrivals;
}

void translation_model_disturb(struct model *m)
{
	m->epoch++;
}
