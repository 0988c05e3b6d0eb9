// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/sequence_steps.h"
#include "selftests/lib/shrink.h"

#include <netinet/in.h>
#include <string.h>

#include "selftests/lib/generate.h"
#include "selftests/lib/packet.h"

#define PROTOCOL_OTHER 253 /* for experiments: no header of its own */
#define SAME_POLICIES 500 /* this many consecutive sequences share their policies */
#define CONVERSATIONS 3

const char *const actor_names[ACTORS + 1] = {
	[ROUTED_1] = "routed-1",   [ROUTED_2] = "routed-2",
	[GUEST] = "guest",	   [ROUTED_AUDITED] = "routed-audited",
	[BRIDGED_1] = "bridged-1", [BRIDGED_2] = "bridged-2",
	[BRIDGED_3] = "bridged-3", [BRIDGED_AUDITED] = "bridged-audited",
	[NODE] = "node",	   [LAN] = "lan",
	[OUTSIDE] = "outside",	   [REMOTE] = "remote",
	[NOBODY] = "nobody",
};

#define ONE_OF(random, ...)                                                                     \
	(((const int[]){__VA_ARGS__})[random_below(random, sizeof((const int[]){__VA_ARGS__}) / \
								   sizeof(int))])

/* ---- policies ---- */

static void generate_rules(struct rules *rules, struct random *random)
{
	memset(rules, 0, sizeof(*rules));
	rules->isolates = random_chance(random, 60);
	rules->n = rules->isolates ? random_below(random, 3) : 0;
	for (int i = 0; i < rules->n; i++) {
		for (int n = 1 + random_below(random, 3); n; n--)
			rules->rule[i].peers |=
				PEER(ONE_OF(random, ROUTED_1, ROUTED_2, GUEST, ROUTED_AUDITED,
					    BRIDGED_1, BRIDGED_2, BRIDGED_3, BRIDGED_AUDITED, LAN,
					    OUTSIDE, REMOTE, ACTORS));
		rules->rule[i].ports = random_below(random, 2);
	}
}

static void generate_policies(struct policies *policies, struct random *random)
{
	memset(policies, 0, sizeof(*policies));
	for (unsigned int pod = 0; pod < PODS; pod++) {
		generate_rules(&policies->rules[pod][0], random);
		generate_rules(&policies->rules[pod][1], random);
		policies->no_node[pod] = random_chance(random, 20);
	}
}

/* Each policy differs from the first one in some pods. */
static void generate_all(struct sequence *sequence)
{
	struct random random = {(sequence->seed / SAME_POLICIES + 1) * 0x9e3779b97f4a7c15ull};
	struct policies *policies = sequence->policies, other;

	generate_policies(&policies[0], &random);
	for (int i = 1; i < POLICIES; i++) {
		generate_policies(&other, &random);
		policies[i] = policies[0];
		for (unsigned int pod = 0; pod < PODS; pod++) {
			if (random_chance(&random, 60))
				policies[i].rules[pod][0] = other.rules[pod][0];
			if (random_chance(&random, 60))
				policies[i].rules[pod][1] = other.rules[pod][1];
			if (random_chance(&random, 20))
				policies[i].no_node[pod] = other.no_node[pod];
		}
	}
}

/* ---- frames ---- */

/* A conversation of two actors, as its initiator sends, and the state of its handshake. */
struct conversation {
	struct step step;
	unsigned int to;
	int stage;
};

static unsigned int any_actor(struct random *random)
{
	return ONE_OF(random, ROUTED_1, ROUTED_2, GUEST, ROUTED_AUDITED, BRIDGED_1, BRIDGED_1,
		      BRIDGED_2, BRIDGED_2, BRIDGED_3, BRIDGED_AUDITED, NODE, LAN, OUTSIDE, REMOTE);
}

/* Returns true if two actors may share a link, so that link-local addresses reach. */
static bool share_link(unsigned int a, unsigned int b)
{
	if (is_on_bridge(a) && is_on_bridge(b))
		return true;
	return (is_pod(a) && b == NODE) || (is_pod(b) && a == NODE);
}

static uint8_t mac_for(unsigned int from, unsigned int to)
{
	if (from == NODE || (is_on_bridge(from) && is_on_bridge(to)))
		return to;
	return TO_ROUTER;
}

static void generate_places(struct conversation *talk, struct random *random)
{
	struct step *step = &talk->step;
	uint8_t from = step->from, to = talk->to;

	step->source = (struct place){from, MAIN};
	step->destination = (struct place){to, MAIN};
	step->mac_to = mac_for(from, to);
	if (step->version == 6 && share_link(from, to) && random_chance(random, 35)) {
		step->source.kind = LINK;
		step->destination.kind = LINK;
	} else if (is_pod(to) && random_chance(random, 8)) {
		step->destination.kind = SECOND;
	} else if (random_chance(random, 12)) {
		step->destination = (struct place){NOBODY, ONE_OF(random, GROUP, ALL)};
		step->mac_to = from == NODE ? to : is_on_bridge(from) ? TO_ALL : TO_ROUTER;
		if (step->version == 6 && random_chance(random, 50))
			step->source.kind = LINK;
	}
}

static void generate_transport(struct step *step, struct random *random)
{
	step->protocol =
		ONE_OF(random, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
		       IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP, PROTOCOL_OTHER);
	step->sport = 40000 + random_below(random, 2);
	step->dport = ONE_OF(random, 7, 9);
	if (random_chance(random, 10))
		step->sport = 7;
	if (step->protocol != IPPROTO_ICMP)
		return;
	step->icmp = ICMP_REQUEST;
	if (step->version == 6)
		step->protocol = IPPROTO_ICMPV6;
	step->dport = 0;
}

static void generate_conversation(struct conversation *talk, struct random *random)
{
	struct step *step = &talk->step;

	memset(talk, 0, sizeof(*talk));
	step->kind = SEND;
	step->version = ONE_OF(random, 4, 6);
	do {
		step->from = any_actor(random);
		talk->to = any_actor(random);
	} while (step->from == talk->to || !(is_pod(step->from) || is_pod(talk->to)));
	step->mac_from = step->from;
	generate_transport(step, random);
	generate_places(talk, random);
	if (is_pod(step->from) && step->version == 4 && random_chance(random, 2)) {
		step->source = (struct place){NOBODY, UNSPECIFIED};
		step->destination = (struct place){NOBODY, ALL};
		step->mac_to = is_on_bridge(step->from) ? TO_ALL : TO_ROUTER;
		step->protocol = IPPROTO_UDP;
		step->icmp = ICMP_NONE;
		step->sport = 68;
		step->dport = 67;
	}
}

/* Reverses the step; @asks: the other end sends its own ICMP request. */
static void turn(struct step *step, unsigned int to, bool asks)
{
	struct place place = step->source;
	uint16_t port = step->sport;
	unsigned int from = step->from;

	step->source = step->destination;
	if (step->source.actor == NOBODY)
		step->source = (struct place){to, place.kind == LINK ? LINK : MAIN};
	step->destination = place;
	if (place.kind == UNSPECIFIED)
		step->destination = (struct place){from, MAIN};
	if (step->icmp) {
		step->icmp = asks ? ICMP_REQUEST : ICMP_REPLY;
	} else {
		step->sport = step->dport;
		step->dport = port;
	}
	step->from = step->mac_from = to;
	step->mac_to = mac_for(to, from);
}

/* Most handshakes are in order. */
static void generate_segment(struct conversation *talk, struct step *step, struct random *random)
{
	static const uint8_t stages[] = {TCP_S, TCP_S | TCP_A, TCP_A};
	bool back = random_chance(random, 50);

	step->number = random_chance(random, 93) ? 0 : random_below(random, NUMBERS + 1);
	step->acknowledged = random_chance(random, 93) ? 0 : random_below(random, NUMBERS + 1);
	if (talk->stage < 3 && random_chance(random, 85)) {
		step->flags = stages[talk->stage];
		back = talk->stage == 1;
		talk->stage++;
	} else if (random_chance(random, 60)) {
		step->flags = TCP_A;
		step->payload = 4 * random_below(random, 2);
	} else {
		step->flags = ONE_OF(random, TCP_S, TCP_S | TCP_A, TCP_A, TCP_F | TCP_A, TCP_R,
				     TCP_R | TCP_A);
		if (step->flags & TCP_R && random_chance(random, 40))
			step->number = WRONG_NUMBER;
		if (step->flags == TCP_S)
			talk->stage = 1;
	}
	if (step->flags == TCP_S && step->number == WRONG_NUMBER)
		step->number = 1;
	if (back)
		turn(step, talk->to, false);
}

static void generate_error(const struct conversation *talk, struct step *step,
			   struct random *random)
{
	struct step quoted = *step;

	if (random_chance(random, 50))
		turn(&quoted, talk->to, false);
	if (quoted.icmp == ICMP_REPLY || quoted.destination.actor == NOBODY ||
	    quoted.source.actor == NOBODY)
		return;
	step->quoted = quoted.protocol;
	step->quoted_sport = quoted.sport;
	step->quoted_dport = quoted.dport;
	step->about = quoted.destination;
	step->from = step->mac_from =
		random_chance(random, 70) ? quoted.destination.actor : any_actor(random);
	step->source = (struct place){step->from, quoted.destination.kind};
	step->destination = quoted.source;
	step->mac_to = mac_for(step->from, quoted.source.actor);
	step->protocol = step->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	step->icmp = ICMP_ERROR;
}

static void generate_fragment(struct step *step, struct random *random)
{
	step->fragment = true;
	step->id = random_below(random, 2);
	step->payload = 8 * (1 + random_below(random, 2));
	step->more = random_chance(random, 70);
	step->fragment_at = random_chance(random, 50) ? 0 : ONE_OF(random, 8, 16, 24, 32);
	if (!step->fragment_at)
		step->more = true;
}

static bool is_lan_side(unsigned int actor)
{
	return actor == LAN || is_bridged_pod(actor);
}

/* Forges a frame: another sender, or another destination than the frame names. */
static void disguise(struct step *step, struct random *random)
{
	unsigned int other = any_actor(random);

	switch (random_below(random, 4)) {
	case 0: /* another actor sends the same frame */
		step->from = step->mac_from = other;
		step->mac_to = is_on_bridge(other) && step->destination.actor != NOBODY
				       ? mac_for(other, step->destination.actor)
			       : is_on_bridge(other) ? TO_ALL
						     : TO_ROUTER;
		break;
	case 1:
		if (is_lan_side(step->from))
			step->mac_from = is_lan_side(other) ? other : NODE;
		break;
	case 2:
		if (is_on_bridge(step->from))
			step->mac_to = ONE_OF(random, BRIDGED_1, BRIDGED_2, BRIDGED_3,
					      BRIDGED_AUDITED, TO_ROUTER, TO_ALL, TO_ALL, TO_ALL);
		break;
	case 3:
		if (step->version == 6 && is_on_bridge(step->from))
			step->source =
				(struct place){is_lan_side(other) ? other : step->from, LINK};
		else if (step->source.kind == LINK && is_pod(step->from))
			step->source.actor = ONE_OF(random, ROUTED_1, ROUTED_2, GUEST);
		else
			step->destination.kind = is_pod(step->destination.actor) ? SECOND : MAIN;
		break;
	}
	/* The node sends only frames of its own, one address for each link. */
	if (step->from == NODE) {
		step->source = (struct place){NODE, step->source.kind == LINK ? LINK : MAIN};
		step->mac_to = is_pod(step->destination.actor) ? step->destination.actor
							       : (unsigned int)BRIDGED_1;
	}
	/*
	 * An audited pod is not enforced: it sends honestly, so that the verdicts on others are
	 * defined.
	 */
	if (is_audited(step->from))
		step->source = (struct place){step->from, step->source.kind == LINK ? LINK : MAIN};
	if (is_audited(step->from))
		step->mac_from = step->from;
	if (step->mac_to == step->from)
		step->mac_to = TO_ALL;
	if (step->destination.actor == NOBODY && step->destination.kind == MAIN)
		step->destination.kind = ALL;
}

static void generate_send(struct conversation *talk, struct step *step, struct random *random)
{
	struct step plain;

	*step = talk->step;
	if (random_chance(random, 8) && step->destination.actor != NOBODY)
		generate_error(talk, step, random);
	else if (step->protocol == IPPROTO_TCP)
		generate_segment(talk, step, random);
	else if (step->protocol == IPPROTO_UDP && random_chance(random, 25))
		generate_fragment(step, random);
	if (step->protocol != IPPROTO_TCP && step->icmp != ICMP_ERROR && random_chance(random, 45))
		turn(step, talk->to, random_chance(random, 20));
	plain = *step;
	if (step->icmp == ICMP_ERROR) {
		plain = talk->step;
		plain.flags = TCP_S;
	}
	if (random_chance(random, 14))
		disguise(step, random);
	if (step->destination.actor == step->from) /* nobody asks for itself */
		*step = plain;
	/* For an address that policy does not list, the senders are not told apart. */
	if (step->source.kind == SECOND &&
	    (step->source.actor != step->from || is_audited(step->from)))
		step->source = (struct place){step->from, MAIN};
}

/* ---- sequences ---- */

/* In every other pair of sequences, some frames are sent at one moment: two of those that follow
 * each other, or one frame twice. */
static void generate_pairs(struct sequence *sequence, struct random *random)
{
	struct step *steps = sequence->steps;

	for (int i = 0; sequence->seed / 2 % 2 && i + 1 < sequence->n; i++) {
		if (steps[i].kind != SEND || !random_chance(random, 30))
			continue;
		if (random_chance(random, 25))
			steps[i + 1] = steps[i];
		steps[i].together = steps[i + 1].kind == SEND;
		i++;
	}
}

void sequence_generate(struct sequence *sequence, uint64_t seed)
{
	struct random random = {(seed + 1) * 0xd1342543de82ef95ull};
	struct conversation talks[CONVERSATIONS];
	int n_talks = 1 + random_below(&random, CONVERSATIONS);
	bool flips = random_chance(&random, 40), comes = !random_below(&random, 300);
	bool slow = random_chance(&random, 20); /* one conversation with many short waits */

	memset(sequence, 0, sizeof(*sequence));
	sequence->seed = seed;
	generate_all(sequence);
	if (slow)
		n_talks = 1;
	for (int i = 0; i < n_talks; i++)
		generate_conversation(&talks[i], &random);
	sequence->n = 4 + random_below(&random, STEPS_MAX / 2 - 3);
	for (int i = 0; i < sequence->n; i++) {
		struct step *step = &sequence->steps[i];
		uint32_t dice = random_below(&random, 100);

		if (slow && dice >= 80) {
			step->kind = WAIT;
			step->seconds = WAIT_UNIT * ONE_OF(&random, 1, 2);
		} else if (dice < 8) {
			step->kind = WAIT;
			step->seconds = WAIT_UNIT * ONE_OF(&random, 1, 2, 3, 12);
		} else if (dice < 16 && flips) {
			step->kind = FLIP;
			step->policy = random_below(&random, POLICIES);
		} else if (dice < 25 && comes) {
			step->kind = random_chance(&random, 50) ? LEAVE : ARRIVE;
			step->role = random_below(&random, PODS);
		} else {
			generate_send(&talks[random_below(&random, n_talks)], step, &random);
		}
	}
	generate_pairs(sequence, &random);
}

/* ---- text ---- */

static const char *place_text(const struct place *place, char text[48])
{
	static const char *const kinds[] = {
		"", "'s second address", "'s link-local", "multicast", "all", "no address"};

	snprintf(text, 48, "%s%s", place->kind <= LINK ? actor_names[place->actor] : "",
		 kinds[place->kind]);
	return text;
}

static void print_transport(FILE *to, uint8_t protocol, uint16_t sport, uint16_t dport)
{
	switch (protocol) {
	case IPPROTO_TCP:
		fprintf(to, "TCP %u > %u", sport, dport);
		break;
	case IPPROTO_UDP:
		fprintf(to, "UDP %u > %u", sport, dport);
		break;
	case IPPROTO_SCTP:
		fprintf(to, "SCTP %u > %u", sport, dport);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		fprintf(to, "ICMP identifier %u", sport);
		break;
	default:
		fprintf(to, "protocol %u", protocol);
	}
}

static void print_tcp(FILE *to, const struct step *step)
{
	fprintf(to, "%s%s%s%s, number %u", step->flags & TCP_S ? " SYN" : "",
		step->flags & TCP_F ? " FIN" : "", step->flags & TCP_R ? " RST" : "",
		step->flags & TCP_A ? " ACK" : "", step->number);
	if (step->number == WRONG_NUMBER)
		fprintf(to, " (nobody's)");
	if (step->flags & TCP_A)
		fprintf(to, " acknowledging %u%s", step->acknowledged,
			step->acknowledged == WRONG_NUMBER ? " (nobody's)" : "");
	if (step->payload)
		fprintf(to, ", with data");
}

static void print_send(FILE *to, const struct step *step)
{
	static const char *const icmp[] = {"", " request", " reply", " error"};
	char source[48], destination[48], about[48];

	fprintf(to, "%s sends IPv%u from %s to %s: ", actor_names[step->from], step->version,
		place_text(&step->source, source), place_text(&step->destination, destination));
	print_transport(to, step->protocol, step->sport, step->dport);
	fprintf(to, "%s", icmp[step->icmp]);
	if (step->protocol == IPPROTO_TCP)
		print_tcp(to, step);
	if (step->icmp == ICMP_ERROR) {
		fprintf(to, " about its packet to %s, ", place_text(&step->about, about));
		print_transport(to, step->quoted, step->quoted_sport, step->quoted_dport);
	}
	if (step->fragment)
		fprintf(to, ", fragment of datagram %u at %u%s", step->id, step->fragment_at,
			step->more ? "" : ", the last");
	if (step->mac_from != step->from)
		fprintf(to, "; from the MAC of %s", actor_names[step->mac_from]);
	fprintf(to, "; to the MAC of %s",
		step->mac_to == TO_ALL	    ? "all"
		: step->mac_to == TO_ROUTER ? "the router"
					    : actor_names[step->mac_to]);
}

void sequence_print_step(FILE *to, const struct step *step)
{
	switch ((enum step_kind)step->kind) {
	case SEND:
		print_send(to, step);
		if (step->together)
			fprintf(to, "; at the same moment:");
		break;
	case FLIP:
		fprintf(to, "policy %u becomes active", step->policy);
		break;
	case WAIT:
		fprintf(to, "%u seconds pass", step->seconds);
		break;
	case LEAVE:
		fprintf(to, "the endpoint guest is deleted");
		break;
	case ARRIVE:
		fprintf(to, "the endpoint guest is added, with the labels of %s",
			actor_names[step->role]);
		break;
	}
	fprintf(to, "\n");
}

/* ---- shrinking ---- */

/* Each try costs a load: first tries all policies at once. */
static void shrink_rules(struct shrink *shrink)
{
	struct policies *policies = shrink->tried.policies;

	for (unsigned int pod = 0; pod < PODS; pod++) {
		for (int p = 0; p < POLICIES; p++) {
			memset(policies[p].rules[pod], 0, sizeof(policies[p].rules[pod]));
			policies[p].no_node[pod] = false;
		}
		if (shrink_keep(shrink))
			continue;
		for (int p = 0; p < POLICIES; p++)
			policies[p].no_node[pod] = false;
		shrink_keep(shrink);
		for (int direction = 0; direction < 2; direction++) {
			for (int p = 0; p < POLICIES; p++)
				memset(&policies[p].rules[pod][direction], 0,
				       sizeof(policies[p].rules[pod][direction]));
			shrink_keep(shrink);
		}
	}
}

/* Removes details that do not matter for the failure. */
static bool shrink_details(struct shrink *shrink)
{
	bool changed = false;

	for (int i = 0; i < shrink->tried.n; i++) {
		struct step *step = &shrink->tried.steps[i];

		step->payload = step->fragment ? 8 : 0;
		changed |= shrink_keep(shrink);
		step->fragment = step->more = false;
		step->fragment_at = step->id = 0;
		changed |= shrink_keep(shrink);
		step->mac_from = step->from;
		changed |= shrink_keep(shrink);
		step->together = false;
		changed |= shrink_keep(shrink);
		step->number = step->acknowledged = 0;
		changed |= shrink_keep(shrink);
	}
	return changed;
}

void sequence_shrink(struct sequence *sequence,
		     bool (*fails)(const struct sequence *sequence, void *data), void *data)
{
	struct shrink shrink = {sequence, *sequence, fails, data};

	while (shrink_steps(&shrink) | shrink_details(&shrink))
		continue;
	shrink_rules(&shrink);
}
