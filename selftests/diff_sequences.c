// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of frames, policy changes, endpoint arrivals and departures, and time, on a node
 * in the test's own namespace: pods with routed and with bridged interfaces, the node, a host on
 * the bridge and hosts outside. Each frame passes the hooks that it passes on a real node, and each
 * program's verdict must be one that lib/sequence_model.c allows. Each frame runs on another CPU.
 * In every other sequence the table of connections is full: what the model remembers is never
 * replaced, since there are closed connections enough. A failing sequence is shrunk and printed as
 * steps.
 *
 * SEED=n runs only that sequence; SEQUENCES=n runs n sequences, from SEED or from BULKHEAD_SEED's.
 * BULKHEAD_FULL=1 runs 100,000.
 */
#include <inttypes.h>

#include "selftests/lib/own_process.h"
#include "selftests/lib/sequence_model.h"
#include "selftests/lib/sequence_node.h"
#include "selftests/lib/sequence_steps.h"
#include "selftests/lib/trials.h"

#define SEQUENCES 5000
#define SEQUENCES_FULL 100000
#define SIGHTS_MAX (PODS + 1)

struct trial {
	struct sequence_node *node;
	struct model *model;
	FILE *to; /* NULL: prints nothing */
	uint64_t frames, words[3]; /* counts of frames, and of verdicts by enum word */
	int failures;
	bool broken; /* the node itself fails: the run says nothing about the programs */
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
	return is_pod(actor) && (actor != GUEST || model_has_guest(trial->model));
}

/* Lists the frame's hooks in order; the first one lets the frame into the node. */
static int sights_of(const struct trial *trial, const struct step *step,
		     struct sight sights[SIGHTS_MAX], bool *enters)
{
	bool routed;
	unsigned int receiver = receiver_of(step, &routed);
	int n = 0;

	*enters = true;
	if (has_hooks(trial, step->from))
		sights[n++] = (struct sight){HOOK_FROM, step->from, receiver, false};
	else if (step->from == LAN)
		sights[n++] = (struct sight){HOOK_PORT, LAN, receiver, false};
	else if (step->from == OUTSIDE || step->from == REMOTE)
		sights[n++] = (struct sight){HOOK_UPLINK, OUTSIDE, receiver, false};
	else
		*enters = false;
	if (has_hooks(trial, receiver) && receiver != step->from)
		sights[n++] = (struct sight){HOOK_TO, receiver, receiver, routed};
	for (unsigned int pod = 0; receiver == NOBODY && !routed && pod < PODS; pod++)
		if (is_bridged_pod(pod) && pod != step->from)
			sights[n++] = (struct sight){HOOK_TO, pod, pod, false};
	return n;
}

static const char *sight_text(const struct sight *sight, char text[48])
{
	static const char *const hooks[] = {"the hook from", "the hook to", "the port of",
					    "the uplink to"};

	snprintf(text, 48, "%s %s", hooks[sight->hook], actor_names[sight->at]);
	return text;
}

/* Returns true if each program's verdict is allowed by the model. */
static bool run_send(struct trial *trial, const struct step *step)
{
	static const char *const words[] = {"must drop it", "must let it pass", "may do either"};
	struct sight sights[SIGHTS_MAX];
	char text[48];
	bool enters, right = true;
	int n = sights_of(trial, step, sights, &enters);

	for (int i = 0; i < n && right; i++) {
		enum word word = model_says(trial->model, step, &sights[i]);
		int passed = sequence_node_run(trial->node, step, &sights[i]);

		trial->broken |= passed < 0;
		right = word == MAY || passed == (word == MUST_PASS);
		trial->frames++;
		trial->words[word]++;
		if (trial->to)
			fprintf(trial->to, "#      %s %s (%s)%s%s\n", sight_text(&sights[i], text),
				passed > 0 ? "lets it pass" : "drops it",
				sequence_node_reason(trial->node), right ? "" : ", but ",
				right ? "" : words[word]);
		if (trial->broken)
			return false;
		model_told(trial->model, step, &sights[i], passed);
		if (!i && enters && !passed)
			break;
	}
	return right;
}

static bool is_done(struct trial *trial, int err)
{
	trial->broken |= err < 0;
	return !err;
}

static bool run_step(struct trial *trial, const struct sequence *sequence, const struct step *step)
{
	switch ((enum step_kind)step->kind) {
	case SEND:
		return run_send(trial, step);
	case FLIP:
		model_flip(trial->model, &sequence->policies[step->policy]);
		return is_done(trial, sequence_node_flip(trial->node, step->policy));
	case WAIT:
		model_wait(trial->model, step->seconds);
		return is_done(trial, sequence_node_wait(trial->node, step->seconds));
	case LEAVE:
		model_leave(trial->model);
		return is_done(trial, sequence_node_leave(trial->node));
	case ARRIVE:
		model_leave(trial->model);
		model_arrive(trial->model, step->role);
		return is_done(trial, sequence_node_leave(trial->node)) &&
		       is_done(trial, sequence_node_arrive(trial->node, step->role));
	}
	return false;
}

static bool fails(const struct sequence *sequence, void *data)
{
	struct trial *trial = data;

	model_begin(trial->model, &sequence->policies[0]);
	if (trial->broken || !is_done(trial, sequence_node_load(trial->node, sequence->policies)) ||
	    !is_done(trial, sequence_node_begin(trial->node, sequence->seed % 2)))
		return false;
	for (int i = 0; i < sequence->n; i++) {
		if (trial->to) {
			fprintf(trial->to, "# %2d. ", i + 1);
			sequence_print_step(trial->to, &sequence->steps[i]);
		}
		if (!run_step(trial, sequence, &sequence->steps[i]))
			return !trial->broken;
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
	trial->to = stdout;
	sequence_node_reason(trial->node);
	if (!fails(sequence, trial) && fails(&whole, trial))
		printf("# that was the whole of it\n");
	trial->to = NULL;
}

static bool run_sequence(uint64_t seed, void *data)
{
	struct trial *trial = data;
	struct sequence sequence;

	sequence_generate(&sequence, seed);
	if (fails(&sequence, trial))
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
	return trial->failures || trial->broken;
}

static int run(const char *pin)
{
	struct trial trial = {.model = model_new()};
	int status;

	if (!trial.model || sequence_node_open(pin, &trial.node)) {
		printf("not ok 1 - no node\n");
		return 1;
	}
	status = run_sequences(&trial);
	sequence_node_close(trial.node);
	model_free(trial.model);
	return status;
}

int main(void)
{
	return own_process_run(run);
}
