// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of frames, policy changes, endpoint arrivals and departures, and time, on a node
 * in the test's own namespace: pods with routed and with bridged interfaces, the node, a host on
 * the bridge and hosts outside. Each frame passes the hooks that it passes on a real node, and each
 * program's verdict must be one that lib/sequence_model.c allows. Each frame runs on another CPU.
 * In every other sequence the table of connections is full: what the model remembers is never
 * replaced, since there are closed connections enough (diff_table has a table in which connections
 * replace each other). A failing sequence is shrunk and printed as steps.
 *
 * In half of the sequences, two CPUs send some of the frames at one moment. Then the model must
 * allow all verdicts in one order of the hooks that both frames pass, and what it remembers
 * afterwards is that of any such order: from then on, the trial has several models, and leaves
 * those that a later verdict contradicts.
 *
 * SEED=n runs only that sequence; SEQUENCES=n runs n sequences, from SEED or from BULKHEAD_SEED's.
 * BULKHEAD_FULL=1 runs 100,000.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/own_process.h"
#include "selftests/lib/packet.h"
#include "selftests/lib/sequence_model.h"
#include "selftests/lib/sequence_node.h"
#include "selftests/lib/sequence_steps.h"
#include "selftests/lib/trials.h"
#include "selftests/lib/two_cpus.h"

#define SEQUENCES 5000
#define SEQUENCES_FULL 100000
#define SIGHTS_MAX (PODS + 1)
#define PAIR_SIGHTS 3 /* the most hooks of a frame that is sent together with another one */
#define MODELS_MAX 64
#define TRIES 50 /* of a sequence with frames that are sent together, to see it fail again */

/* A frame on its way, and the programs' verdicts. */
struct frame {
	const struct step *step;
	struct sight sights[SIGHTS_MAX];
	int n;
	bool enters; /* the first hook lets the frame into the node */
	int passed[SIGHTS_MAX], met; /* by hook: 1, 0 or -errno; of the first @met hooks */
};

struct trial {
	struct sequence_node *node;
	/* What may have happened: the first @n_models. The others are spare. */
	struct model *models[MODELS_MAX + 1];
	int n_models;
	FILE *to; /* NULL: prints nothing */
	/* counts of frames, and of verdicts by enum word; of pairs of frames */
	uint64_t frames, words[3], pairs, reordered, crossed, resets;
	int failures;
	bool broken; /* the node itself fails: the run says nothing about the programs */
	bool two_cpus;
};

/* ---- the way of a frame ---- */

/* The actor to which the node routes a frame; NOBODY if it passes no further hook. */
static unsigned int routed_to(const struct step *step)
{
	const struct place *to = &step->destination;

	if (to->kind == MAIN || to->kind == SECOND)
		return step->source.kind == LINK || step->source.kind == UNSPECIFIED ? NODE
										     : to->actor;
	return NODE;
}

static unsigned int receiver_of(const struct step *step, bool *routed)
{
	*routed = false;
	if (step->from == NODE)
		return step->mac_to;
	if (is_on_bridge(step->from) && step->mac_to != TO_ROUTER)
		return step->mac_to == TO_ALL ? NOBODY : step->mac_to;
	*routed = true;
	return routed_to(step);
}

static bool has_hooks(const struct trial *trial, unsigned int actor)
{
	return is_pod(actor) && (actor != GUEST || model_has_guest(trial->models[0]));
}

/* Lists the frame's hooks in order. */
static void find_way(const struct trial *trial, const struct step *step, struct frame *frame)
{
	bool routed;
	unsigned int receiver = receiver_of(step, &routed);
	struct sight *sights = frame->sights;
	int n = 0;

	*frame = (struct frame){.step = step, .enters = true};
	if (has_hooks(trial, step->from))
		sights[n++] = (struct sight){HOOK_FROM, step->from, receiver, false};
	else if (step->from == LAN)
		sights[n++] = (struct sight){HOOK_PORT, LAN, receiver, false};
	else if (step->from == OUTSIDE || step->from == REMOTE)
		sights[n++] = (struct sight){HOOK_UPLINK, OUTSIDE, receiver, false};
	else
		frame->enters = false;
	if (has_hooks(trial, receiver) && receiver != step->from)
		sights[n++] = (struct sight){HOOK_TO, receiver, receiver, routed};
	for (unsigned int pod = 0; receiver == NOBODY && !routed && pod < PODS; pod++)
		if (is_bridged_pod(pod) && pod != step->from)
			sights[n++] = (struct sight){HOOK_TO, pod, pod, false};
	frame->n = n;
}

static const char *sight_text(const struct sight *sight, char text[48])
{
	static const char *const hooks[] = {"the hook from", "the hook to", "the port of",
					    "the uplink to"};

	snprintf(text, 48, "%s %s", hooks[sight->hook], actor_names[sight->at]);
	return text;
}

/* Sends the frame to its next hook. Returns false if it goes no further. */
static bool meet_hook(const struct sequence_node *node, struct frame *frame)
{
	int nth = frame->met, passed;

	if (nth == frame->n)
		return false;
	passed = sequence_node_run(node, frame->step, &frame->sights[nth]);
	frame->passed[nth] = passed;
	frame->met++;
	return passed >= 0 && !(!nth && frame->enters && !passed);
}

static void print_verdict(struct trial *trial, const struct frame *frame, int nth, const char *but)
{
	char text[48];

	if (trial->to)
		fprintf(trial->to, "#      %s %s%s\n", sight_text(&frame->sights[nth], text),
			frame->passed[nth] ? "lets it pass" : "drops it", but);
}

/* Returns true if the model allows the verdict of the nth hook, and tells the model. */
static bool accepts(struct model *model, const struct frame *frame, int nth, enum word *word)
{
	*word = model_says(model, frame->step, &frame->sights[nth]);
	if (*word != MAY && frame->passed[nth] != (*word == MUST_PASS))
		return false;
	model_told(model, frame->step, &frame->sights[nth], frame->passed[nth]);
	return true;
}

/* Leaves the models that allow the verdict of the nth hook. Returns false if there is none. */
static bool hear(struct trial *trial, const struct frame *frame, int nth)
{
	static const char *const words[] = {", but must drop it", ", but must let it pass", ""};
	enum word word, said = MAY;
	char but[96];
	int n = 0;

	for (int i = 0; i < trial->n_models; i++) {
		struct model *model = trial->models[i];

		if (!accepts(model, frame, nth, &word)) {
			said = word;
			continue;
		}
		if (!n)
			said = word;
		trial->models[i] = trial->models[n];
		trial->models[n++] = model;
	}
	trial->frames++;
	trial->words[said]++;
	snprintf(but, sizeof(but), " (%s)%s", trial->to ? sequence_node_reason(trial->node) : "",
		 n ? "" : words[said]);
	print_verdict(trial, frame, nth, but);
	trial->n_models = n ? n : trial->n_models;
	return n;
}

/* Returns true if each program's verdict is allowed by the model. */
static bool run_send(struct trial *trial, const struct step *step)
{
	struct frame frame;
	bool goes_on = true;

	find_way(trial, step, &frame);
	while (goes_on && frame.met < frame.n) {
		if (sequence_node_next_cpu(trial->node)) {
			trial->broken = true;
			return false;
		}
		goes_on = meet_hook(trial->node, &frame);
		trial->broken |= frame.passed[frame.met - 1] < 0;
		if (trial->broken || !hear(trial, &frame, frame.met - 1))
			return false;
	}
	return true;
}

/* ---- two frames at one moment ---- */

static struct frame pair[2];
static const struct sequence_node *pair_node;

static void send_of_pair(unsigned int which)
{
	while (meet_hook(pair_node, &pair[which]))
		continue;
}

static bool is_known(const struct trial *trial, int from, const struct model *model)
{
	for (int i = from; i < trial->n_models; i++)
		if (model_equals(trial->models[i], model))
			return true;
	return false;
}

/*
 * Tries every order of the hooks that are left, of both frames: @met of each were before. Adds the
 * models that allow all of the verdicts, from trial->models[@from] on.
 */
static void explain(struct trial *trial, const struct model *model, const int met[2], int from)
{
	struct model *next;
	enum word word;

	if (trial->n_models == MODELS_MAX)
		return;
	next = model_new();
	for (int which = 0; next && which < 2; which++) {
		int then[2] = {met[0] + !which, met[1] + which};

		if (met[which] == pair[which].met)
			continue;
		model_copy(next, model);
		if (accepts(next, &pair[which], met[which], &word))
			explain(trial, next, then, from);
	}
	if (met[0] == pair[0].met && met[1] == pair[1].met && !is_known(trial, from, model))
		model_copy(trial->models[trial->n_models++], model);
	model_free(next);
}

/* Returns true if the frames have the same addresses and ports, and go the same way or, if @back,
 * in both directions. */
static bool are_of_one(bool back)
{
	const struct step *a = pair[0].step, *b = pair[1].step;
	const struct place *from = back ? &b->destination : &b->source;
	const struct place *to = back ? &b->source : &b->destination;

	return a->protocol == b->protocol && a->version == b->version &&
	       a->sport == (back ? b->dport : b->sport) &&
	       a->dport == (back ? b->sport : b->dport) &&
	       !memcmp(&a->source, from, sizeof(*from)) &&
	       !memcmp(&a->destination, to, sizeof(*to));
}

/*
 * Returns true if one of the frames is a RST and the other one a segment of the same ports. If both
 * end a handshake, the RST may free the entry that the other segment has opened meanwhile. So a
 * connection that is reset may be forgotten at once.
 */
static bool resets_handshake(void)
{
	return pair[0].step->protocol == IPPROTO_TCP && (are_of_one(true) || are_of_one(false)) &&
	       ((pair[0].step->flags ^ pair[1].step->flags) & TCP_R);
}

/*
 * Returns true if both frames are calls, without handshake, of the same addresses and ports, one in
 * each direction. One entry serves both directions, and a hook that has found the entry of a call
 * which the called end has not let in yet replaces it by that of a call of its own. Meanwhile the
 * called end may let the first call in. So that call may be forgotten until its caller's next
 * packet.
 */
static bool calls_cross(const struct trial *trial)
{
	return pair[0].step->protocol != IPPROTO_TCP && are_of_one(true) &&
	       !model_knows(trial->models[0], pair[0].step);
}

/* Returns true if an order of both frames explains what the programs did. */
static bool hear_pair(struct trial *trial)
{
	const int none[2] = {0, 0};
	bool cross = calls_cross(trial), resets = resets_handshake();
	int n = trial->n_models, left;

	for (int i = 0; resets && i < n; i++)
		model_doubt(trial->models[i], pair[0].step);
	for (int i = 0; i < n; i++)
		explain(trial, trial->models[i], none, n);
	left = trial->n_models - n;
	for (int which = 0; which < 2; which++)
		for (int nth = 0; nth < pair[which].met; nth++)
			print_verdict(trial, &pair[which], nth,
				      left ? "" : ": no order of both frames explains this");
	for (int i = 0; i < left; i++) {
		struct model *model = trial->models[i];

		trial->models[i] = trial->models[n + i];
		trial->models[n + i] = model;
	}
	trial->n_models = left ? left : n;
	for (int i = 0; cross && i < trial->n_models; i++)
		model_doubt(trial->models[i], pair[0].step);
	trial->pairs++;
	trial->crossed += cross;
	trial->resets += resets;
	trial->reordered += left > 1;
	return left;
}

/* Returns true if the step and the next one are to be sent at one moment. Then finds their ways. */
static bool is_pair(const struct trial *trial, const struct sequence *sequence, int nth)
{
	const struct step *step = &sequence->steps[nth];

	if (!step->together || nth + 1 == sequence->n || step[1].kind != SEND || !trial->two_cpus ||
	    trial->n_models > MODELS_MAX / 4)
		return false;
	find_way(trial, &step[0], &pair[0]);
	find_way(trial, &step[1], &pair[1]);
	return pair[0].n <= PAIR_SIGHTS && pair[1].n <= PAIR_SIGHTS;
}

static bool run_pair(struct trial *trial)
{
	if (sequence_node_next_cpu(trial->node)) {
		trial->broken = true;
		return false;
	}
	pair_node = trial->node;
	two_cpus_run(send_of_pair);
	for (int which = 0; which < 2; which++)
		for (int nth = 0; nth < pair[which].met; nth++)
			trial->broken |= pair[which].passed[nth] < 0;
	return !trial->broken && hear_pair(trial);
}

/* ---- steps ---- */

static bool is_done(struct trial *trial, int err)
{
	trial->broken |= err < 0;
	return !err;
}

/* Tells the model of a step that is no frame. */
static void tell(struct model *model, const struct sequence *sequence, const struct step *step)
{
	switch ((enum step_kind)step->kind) {
	case SEND:
		break;
	case FLIP:
		model_flip(model, &sequence->policies[step->policy]);
		break;
	case WAIT:
		model_wait(model, step->seconds);
		break;
	case ARRIVE:
		model_leave(model);
		model_arrive(model, step->role);
		break;
	case LEAVE:
		model_leave(model);
		break;
	}
}

static bool run_step(struct trial *trial, const struct sequence *sequence, const struct step *step)
{
	for (int i = 0; i < trial->n_models; i++)
		tell(trial->models[i], sequence, step);
	switch ((enum step_kind)step->kind) {
	case SEND:
		return run_send(trial, step);
	case FLIP:
		return is_done(trial, sequence_node_flip(trial->node, step->policy));
	case WAIT:
		return is_done(trial, sequence_node_wait(trial->node, step->seconds));
	case LEAVE:
		return is_done(trial, sequence_node_leave(trial->node));
	case ARRIVE:
		return is_done(trial, sequence_node_leave(trial->node)) &&
		       is_done(trial, sequence_node_arrive(trial->node, step->role));
	}
	return false;
}

static bool fails_once(struct trial *trial, const struct sequence *sequence)
{
	bool pairs;

	trial->n_models = 1;
	model_begin(trial->models[0], &sequence->policies[0]);
	if (trial->broken || !is_done(trial, sequence_node_load(trial->node, sequence->policies)) ||
	    !is_done(trial, sequence_node_begin(trial->node, sequence->seed % 2)))
		return false;
	for (int i = 0; i < sequence->n; i++) {
		pairs = is_pair(trial, sequence, i);
		for (int n = 0; trial->to && n <= (pairs ? 1 : 0); n++) {
			fprintf(trial->to, "# %2d. ", i + n + 1);
			sequence_print_step(trial->to, &sequence->steps[i + n]);
		}
		if (pairs ? !run_pair(trial) : !run_step(trial, sequence, &sequence->steps[i]))
			return !trial->broken;
		i += pairs;
	}
	is_done(trial, sequence_node_rests(trial->node));
	return false;
}

/* What two CPUs do at one moment is not the same each time. */
static bool fails(const struct sequence *sequence, void *data)
{
	struct trial *trial = data;
	int tries = 1;

	for (int i = 0; i < sequence->n; i++)
		if (sequence->steps[i].together)
			tries = TRIES;
	while (tries-- && !trial->broken) {
		if (trial->to)
			rewind(trial->to);
		if (fails_once(trial, sequence))
			return true;
	}
	return false;
}

/* ---- failures ---- */

static bool is_used(const struct sequence *sequence, int which)
{
	for (int i = 0; i < sequence->n; i++)
		if (sequence->steps[i].kind == FLIP && sequence->steps[i].policy == which)
			return true;
	return !which;
}

/* Prints the steps of a try that fails. Returns false if none does. */
static bool print_failure(struct trial *trial, const struct sequence *sequence)
{
	char *text = NULL;
	size_t size;
	bool failed;

	trial->to = open_memstream(&text, &size);
	failed = trial->to && fails(sequence, trial);
	if (trial->to)
		fclose(trial->to);
	trial->to = NULL;
	printf("%s", failed && text ? text : "");
	free(text);
	return failed;
}

static void report(struct trial *trial, struct sequence *sequence)
{
	struct sequence whole = *sequence;

	trial->failures++;
	printf("# SEED=%" PRIu64 " fails:\n", sequence->seed);
	if (fails(sequence, trial))
		sequence_shrink(sequence, fails, trial);
	else
		printf("# not so when it is run once more\n");
	for (int i = 0; i < POLICIES; i++)
		if (is_used(sequence, i))
			trials_print_policies(i, sequence_node_print_policies,
					      &sequence->policies[i]);
	sequence_node_reason(trial->node);
	if (!print_failure(trial, sequence) && print_failure(trial, &whole))
		printf("# that was the whole of it\n");
}

static bool run_sequence(uint64_t seed, void *data)
{
	struct trial *trial = data;
	struct sequence sequence;

	sequence_generate(&sequence, seed);
	if (fails_once(trial, &sequence))
		report(trial, &sequence);
	if (trial->broken)
		printf("# the node broke in SEED=%" PRIu64 "\n", seed);
	return trial->failures < TRIALS_FAILURES_MAX && !trial->broken;
}

static int run_sequences(struct trial *trial)
{
	const struct trials trials = {SEQUENCES, SEQUENCES_FULL, run_sequence, trial};
	uint64_t n = trials_run(&trials);

	printf("%sok 1 - the programs let through what a stateful enforcer may, and must\n",
	       trial->failures || trial->broken ? "not " : "");
	printf("# %" PRIu64 " sequences, %" PRIu64 " verdicts: %" PRIu64
	       " had to be drops, %" PRIu64 " passes, %" PRIu64 " were left open\n",
	       n, trial->frames, trial->words[MUST_DROP], trial->words[MUST_PASS],
	       trial->words[MAY]);
	printf("# %" PRIu64 " pairs of frames at one moment; of %" PRIu64
	       " the verdicts leave the order open\n",
	       trial->pairs, trial->reordered);
	printf("# no order may explain %" PRIu64 " of calls that cross, and %" PRIu64
	       " with a RST beside another segment\n",
	       trial->crossed, trial->resets);
	return trial->failures || trial->broken;
}

static int run(const char *pin)
{
	struct trial trial = {.two_cpus = two_cpus_begin()};
	bool failed = false;
	int status;

	for (int i = 0; i <= MODELS_MAX; i++) {
		trial.models[i] = model_new();
		failed |= !trial.models[i];
	}
	if (failed || sequence_node_open(pin, &trial.node)) {
		printf("not ok 1 - no node\n");
		return 1;
	}
	status = run_sequences(&trial);
	sequence_node_close(trial.node);
	for (int i = 0; i <= MODELS_MAX; i++)
		model_free(trial.models[i]);
	return status;
}

int main(void)
{
	return own_process_run(run);
}
