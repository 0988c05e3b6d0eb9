// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of packets through a node that translates: Services, NodePorts and masquerading,
 * also to random ports, by real nftables and the kernel's real conntrack, which forgets; the
 * programs forget, too, or policy changes. All callers use the same few source ports, so what the
 * node or the programs remember of one caller may be taken for another's. What arrives must be what
 * lib/translation_model.c lets arrive. Each packet runs on another CPU. A failing sequence is
 * shrunk and printed as steps. The fixed sequences of lib/translation_cases.c run first.
 *
 * SEED=n runs only that sequence; SEQUENCES=n runs n sequences, from SEED or from BULKHEAD_SEED's.
 * BULKHEAD_FULL=1 runs 100,000.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftests/lib/own_process.h"
#include "selftests/lib/translation_cases.h"
#include "selftests/lib/translation_model.h"
#include "selftests/lib/translation_node.h"
#include "selftests/lib/translation_steps.h"
#include "selftests/lib/trials.h"

#define SEQUENCES 4096 /* four groups of policies */
#define SEQUENCES_FULL 100000
#define CASE_ROUNDS 8

struct trial {
	struct translation_node *node;
	struct model *model;
	struct policies loaded;
	bool has_loaded;
	FILE *to; /* NULL: prints nothing */
	uint64_t packets, arrived, words[3]; /* words: by enum word */
	int failures;
	bool broken; /* the node itself fails: the run says nothing about the programs */
};

static bool activate(struct trial *trial, const struct policies *policies)
{
	if (trial->has_loaded && !memcmp(&trial->loaded, policies, sizeof(*policies)))
		return true;
	trial->broken |= translation_node_load(trial->node, policies) < 0;
	trial->loaded = *policies;
	trial->has_loaded = true;
	return !trial->broken;
}

static const char *actor_of(const struct place *place, uint8_t version)
{
	return translation_actors[place_owner(place, version)];
}

static void print_fate(const struct trial *trial, const struct sending *sending,
		       const struct fate *fate, const char *but)
{
	if (!trial->to)
		return;
	fprintf(trial->to, "#      from %s", translation_actors[sending->actor]);
	if (fate->shown && sending->error)
		fprintf(trial->to, " to %s, about one from %s port %u to %s port %u: %s",
			translation_actors[fate->actor],
			actor_of(&fate->quoted.from, fate->quoted.version), fate->quoted.from.port,
			actor_of(&fate->quoted.to, fate->quoted.version), fate->quoted.to.port,
			fate->arrived ? "arrives" : "drops");
	else if (fate->shown)
		fprintf(trial->to, " to %s, from port %u to %u: %s",
			translation_actors[fate->actor], fate->flow.from.port, fate->flow.to.port,
			fate->arrived ? "arrives" : "drops");
	else
		fprintf(trial->to, ": %s", fate->entered ? "stays at the node" : "drops at once");
	fprintf(trial->to, " (%s)%s\n", translation_node_reason(trial->node), but);
}

/* Returns true if the model agrees. */
static bool run_packet(struct trial *trial, const struct step *step)
{
	struct sending sending;
	struct fate fate;
	enum word word;
	bool right;

	if (!translation_model_packet(trial->model, step, &sending))
		return true;
	if (translation_node_send(trial->node, step, &sending, &fate)) {
		trial->broken = true;
		return false;
	}
	word = translation_model_evaluate(trial->model, step, &sending, &fate);
	right = word == MAY || fate.arrived == (word == MUST_PASS);
	trial->packets++;
	trial->arrived += fate.arrived;
	trial->words[word]++;
	print_fate(trial, &sending, &fate,
		   right	       ? ""
		   : word == MUST_DROP ? ", but must not arrive"
				       : ", but must arrive");
	return right;
}

static bool run_step(struct trial *trial, const struct sequence *sequence, const struct step *step)
{
	switch ((enum step_kind)step->kind) {
	case FORGET:
		translation_model_forget(trial->model);
		trial->broken |= translation_node_forget(trial->node) < 0;
		return !trial->broken;
	case LOSE:
		translation_model_disturb(trial->model);
		trial->broken |= translation_node_lose(trial->node) < 0;
		return !trial->broken;
	case FLIP:
		translation_model_flip(trial->model, &sequence->policies[1]);
		return activate(trial, &sequence->policies[1]);
	default:
		return run_packet(trial, step);
	}
}

static bool fails(const struct sequence *sequence, void *data)
{
	struct trial *trial = data;

	translation_model_begin(trial->model, &sequence->policies[0]);
	if (trial->broken || !activate(trial, &sequence->policies[0]))
		return false;
	trial->broken |= translation_node_forget(trial->node) || translation_node_lose(trial->node);
	for (int i = 0; i < sequence->n && !trial->broken; i++) {
		if (trial->to) {
			fprintf(trial->to, "# %2d. ", i + 1);
			translation_print_step(trial->to, &sequence->steps[i]);
		}
		if (!run_step(trial, sequence, &sequence->steps[i]))
			return !trial->broken;
	}
	return false;
}

/* ---- failures ---- */

static void report(struct trial *trial, struct sequence *sequence, const char *name)
{
	struct sequence whole = *sequence;
	bool flips = false;

	trial->failures++;
	if (name)
		printf("# %s fails:\n", name);
	else
		printf("# SEED=%" PRIu64 " fails:\n", sequence->seed);
	if (fails(sequence, trial))
		translation_shrink(sequence, fails, trial);
	else
		printf("# not so when it is run once more\n");
	for (int i = 0; i < sequence->n; i++)
		flips |= sequence->steps[i].kind == FLIP;
	for (int i = 0; i < (flips ? 2 : 1); i++)
		trials_print_policies(i, translation_node_print_policies, &sequence->policies[i]);
	trial->to = stdout;
	translation_node_reason(trial->node);
	if (!fails(sequence, trial) && fails(&whole, trial))
		printf("# that was the whole of it\n");
	trial->to = NULL;
}

/* Runs each case from other places in the change of CPUs: some show only on one CPU. */
static void run_cases(struct trial *trial)
{
	for (const struct translation_case *at = translation_cases; at->name; at++)
		for (int i = 0; i < CASE_ROUNDS && !trial->broken; i++) {
			struct sequence sequence = at->sequence;

			if (!fails(&sequence, trial))
				continue;
			report(trial, &sequence, at->name);
			break;
		}
}

static bool run_sequence(uint64_t seed, void *data)
{
	struct trial *trial = data;
	struct sequence sequence;

	translation_generate(&sequence, seed);
	if (fails(&sequence, trial))
		report(trial, &sequence, NULL);
	if (trial->broken)
		printf("# the node broke in SEED=%" PRIu64 "\n", seed);
	return trial->failures < TRIALS_FAILURES_MAX && !trial->broken;
}

static int run_sequences(struct trial *trial)
{
	const struct trials trials = {SEQUENCES, SEQUENCES_FULL, run_sequence, trial};
	uint64_t n;

	if (!getenv("SEED"))
		run_cases(trial);
	n = trials_run(&trials);
	printf("%sok 1 - what arrives is what policy lets arrive\n",
	       trial->failures || trial->broken ? "not " : "");
	printf("# %" PRIu64 " sequences, %" PRIu64 " packets: %" PRIu64 " arrived; %" PRIu64
	       " had to be dropped, %" PRIu64 " to arrive, %" PRIu64 " were left open\n",
	       n, trial->packets, trial->arrived, trial->words[MUST_DROP], trial->words[MUST_PASS],
	       trial->words[MAY]);
	return trial->failures || trial->broken;
}

static int run(const char *pin)
{
	struct trial trial = {.model = translation_model_new()};
	int status = 1;

	if (access("/dev/net/tun", R_OK | W_OK) || access("/proc/sys/net/bridge", F_OK) ||
	    access("/proc/sys/net/netfilter", F_OK)) {
		printf("ok 1 - # SKIP needs the kernel's tun, br_netfilter and nf_conntrack\n");
		return 4;
	}
	if (!trial.model || translation_node_open(pin, &trial.node))
		printf("not ok 1 - no node\n");
	else
		status = run_sequences(&trial);
	if (trial.node)
		translation_node_close(trial.node);
	translation_model_free(trial.model);
	return status;
}

int main(void)
{
	return own_process_run(run);
}
