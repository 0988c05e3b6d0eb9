// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/translation_steps.h"
#include "selftests/lib/random.h"
#include "selftests/lib/shrink.h"

#include <netinet/in.h>
#include <string.h>

static bool once_in(struct random *dice, unsigned int n)
{
	return !random_below(dice, n);
}

static void generate_policies(struct policies *policies, struct random *dice)
{
	for (unsigned int pod = 0; pod < PODS; pod++)
		for (int direction = 0; direction < 2; direction++) {
			struct rules *rules = &policies->rules[pod][direction];

			rules->isolates = !once_in(dice, 3);
			rules->one_port = once_in(dice, 4);
			rules->peers = random_next(dice) & random_next(dice) & ((1u << ACTORS) - 1);
		}
}

/* What the packets of a sequence have in common, so that they meet one another. */
struct cast {
	uint8_t version, protocol, service, ids;
	uint8_t actors[4];
};

/* A port that a Service has: an answer of its backend then looks like a call of the backend. */
static uint16_t port_of_service(unsigned int service, struct random *dice)
{
	switch (random_below(dice, 3)) {
	case 0:
		return PORT_OPEN;
	case 1:
		return PORT_MASKED + service;
	}
	return PORT_KEPT + service;
}

static void generate_call(struct step *step, const struct cast *cast, struct random *dice)
{
	step->actor = cast->actors[random_below(dice, 4)];
	step->port = once_in(dice, 3) ? random_below(dice, CALLER_PORTS) : 0;
	if (once_in(dice, 12))
		step->from_port = port_of_service(cast->service, dice);
	step->target = random_below(dice, TARGETS);
	step->to = once_in(dice, 4) ? random_below(dice, SERVICES) : cast->service;
	if (step->target == DIRECT) {
		step->to = cast->actors[random_below(dice, 4)];
		step->other_port = once_in(dice, 5);
	}
	if (cast->protocol != IPPROTO_UDP && once_in(dice, 8))
		step->segment = random_below(dice, SEGMENTS);
	if (step->target == DIRECT && (step->to == step->actor || step->to == NODE ||
				       (is_outside(step->to) && is_outside(step->actor))))
		step->target = MASKED;
	if (step->target != DIRECT)
		step->to %= SERVICES;
}

/* More than half of the segments are the next ones of a connection that opens. */
static void generate_segment(struct step *step, unsigned int count, struct random *dice)
{
	if (once_in(dice, 3))
		step->segment = random_below(dice, SEGMENTS);
	else if (step->kind == REPLY)
		step->segment = count ? ACK : SYN_ACK;
	else
		step->segment = step->kind == ASTRAY && once_in(dice, 2) ? SYN : ACK;
}

static void generate_step(struct step *step, struct cast *cast, uint8_t counts[STEPS_MAX],
			  struct random *dice)
{
	static const uint8_t kinds[] = {CALL,	CALL,  CALL,  CALL,	    AGAIN,  AGAIN,  AGAIN,
					AGAIN,	REPLY, REPLY, REPLY,	    REPLY,  REPLY,  ASTRAY,
					ASTRAY, ERROR, ERROR, ERROR_ASTRAY, FORGET, FORGET, LOSE};

	*step = (struct step){
		.kind = cast->ids ? kinds[random_below(dice, sizeof(kinds))] : CALL,
		.version = cast->version,
		.protocol = cast->protocol,
		.mode = random_below(dice, MODES),
		.backend = random_below(dice, BACKENDS),
	};
	if (step->kind == FORGET || step->kind == LOSE)
		return;
	if (step->kind == CALL) {
		step->id = cast->ids++;
		generate_call(step, cast, dice);
		return;
	}
	/* The later calls are the more interesting ones. */
	step->id = once_in(dice, 3) ? random_below(dice, cast->ids) : cast->ids - 1u;
	step->actor = cast->actors[random_below(dice, 4)];
	if (step->kind == ERROR || step->kind == ERROR_ASTRAY) {
		step->of_reply = once_in(dice, 3);
		return;
	}
	generate_segment(step, counts[step->id], dice);
	counts[step->id] += step->kind == REPLY;
}

void translation_generate(struct sequence *sequence, uint64_t seed)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
					    IPPROTO_SCTP};
	struct random dice = {seed / GROUP};
	uint8_t counts[STEPS_MAX] = {};
	struct cast cast = {};

	*sequence = (struct sequence){.seed = seed};
	generate_policies(&sequence->policies[0], &dice);
	generate_policies(&sequence->policies[1], &dice);
	dice.state = seed * 0xd1342543de82ef95ull;
	cast.version = once_in(&dice, 2) ? 4 : 6;
	cast.protocol = protocols[random_below(&dice, sizeof(protocols))];
	cast.service = random_below(&dice, SERVICES);
	for (int i = 0; i < 4; i++)
		cast.actors[i] = random_below(&dice, ACTORS);
	sequence->n = 5 + random_below(&dice, STEPS_MAX - 5);
	for (int i = 0; i < sequence->n; i++)
		generate_step(&sequence->steps[i], &cast, counts, &dice);
	/* A change of policy costs two loads. */
	if (once_in(&dice, GROUP))
		sequence->steps[1 + random_below(&dice, sequence->n - 1)].kind = FLIP;
}

/* ---- text ---- */

static void print_call(FILE *to, const struct step *step)
{
	static const char *const targets[] = {"", "Service", "masqueraded NodePort",
					      "NodePort that keeps the caller's address"};

	fprintf(to, "call %u: %s, port %u, to ", step->id, translation_actors[step->actor],
		port_of_caller(step));
	if (step->target == DIRECT)
		fprintf(to, "%s, port %u", translation_actors[step->to],
			step->other_port ? PORT_OTHER : PORT_OPEN);
	else
		fprintf(to, "%s %u", targets[step->target], step->to);
}

void translation_print_step(FILE *to, const struct step *step)
{
	static const char *const segments[SEGMENTS] = {"SYN", "SYN-ACK", "data",
						       "FIN", "RST",	 "RST with data"};
	static const char *const modes[MODES] = {"", ", masqueraded", ", masqueraded at random"};

	switch ((enum step_kind)step->kind) {
	case CALL:
		print_call(to, step);
		break;
	case AGAIN:
		fprintf(to, "call %u: the caller once more", step->id);
		break;
	case REPLY:
		fprintf(to, "call %u: a reply from where it goes", step->id);
		break;
	case ASTRAY:
		fprintf(to, "call %u: a reply from %s instead", step->id,
			translation_actors[step->actor]);
		break;
	case ERROR:
		fprintf(to, "call %u: an ICMP error about %s, from its end", step->id,
			step->of_reply ? "a reply" : "its last packet");
		break;
	case ERROR_ASTRAY:
		fprintf(to, "call %u: an ICMP error about %s, from %s", step->id,
			step->of_reply ? "a reply" : "its last packet",
			translation_actors[step->actor]);
		break;
	case FORGET:
		fprintf(to, "conntrack forgets\n");
		return;
	case LOSE:
		fprintf(to, "the programs forget\n");
		return;
	case FLIP:
		fprintf(to, "the other policy is active\n");
		return;
	}
	fprintf(to, " (IPv%u %s, %s%s, backend %u)\n", step->version,
		step->protocol == IPPROTO_TCP	? "TCP"
		: step->protocol == IPPROTO_UDP ? "UDP"
						: "SCTP",
		segments[step->segment], modes[step->mode], step->backend);
}

/* ---- shrinking ---- */

static bool shrink_details(struct shrink *shrink)
{
	bool changed = false;

	for (int i = 0; i < shrink->tried.n; i++) {
		struct step *step = &shrink->tried.steps[i];

		step->mode = PLAIN;
		changed |= shrink_keep(shrink);
		step->backend = 0;
		changed |= shrink_keep(shrink);
		step->port = 0;
		changed |= shrink_keep(shrink);
		step->from_port = 0;
		changed |= shrink_keep(shrink);
	}
	return changed;
}

static void shrink_rules(struct shrink *shrink)
{
	for (unsigned int pod = 0; pod < PODS; pod++)
		for (int direction = 0; direction < 2; direction++) {
			for (int i = 0; i < 2; i++)
				shrink->tried.policies[i].rules[pod][direction] = (struct rules){};
			shrink_keep(shrink);
		}
}

void translation_shrink(struct sequence *sequence,
			bool (*fails)(const struct sequence *sequence, void *data), void *data)
{
	struct shrink shrink = {sequence, *sequence, fails, data};

	while (shrink_steps(&shrink) | shrink_details(&shrink))
		continue;
	shrink_rules(&shrink);
}
