// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/count.h"
#include "cluster/engine.h"

/* @oldest NULL: the rollout waits for no node. */
static void put_generation(FILE *to, const char *name, const char *help, uint32_t desired,
			   const uint32_t *oldest)
{
	count_family(to, name, help);
	count_series(to, name, "state=\"desired\"", desired);
	if (oldest)
		count_series(to, name, "state=\"oldest\"", *oldest);
}

static void put_generations(const struct engine *engine, FILE *to)
{
	struct barrier barrier = engine_barrier(engine);

	put_generation(to, "engine_policy_generation",
		       "Generation of the segments that nodes are to install, and the oldest that "
		       "a node has, where one counts.",
		       engine->status.policy, barrier.nodes ? &barrier.policy : NULL);
	put_generation(to, "engine_endpoint_generation",
		       "Generation of the segments that endpoints may be in, and the oldest that a "
		       "node has, where one counts.",
		       engine->status.endpoint, barrier.nodes ? &barrier.endpoint : NULL);
	count_put(to, "engine_nodes", "Nodes that the rollout waits for.", barrier.nodes);
	count_put(to, "engine_nodes_late",
		  "Nodes that report without progress, and for which the rollout does not wait.",
		  barrier.n_late);
	count_put(to, "engine_nodes_reported", "Nodes that have a NodePolicyStatus.",
		  lh_table_length(engine->nodes));
}

void engine_metrics(void *data, FILE *to)
{
	const struct engine *engine = data;
	const struct counts *counts = &engine->counts;
	const struct waits waits = engine_waits(engine);
	char unread[300];

	count_put(to, "engine_leads", "1 where this engine holds the lease, else 0.",
		  lease_held(engine->lease));
	count_put(to, "engine_objects", "Objects that a policy is made of.",
		  objects_count(engine->objects));
	count_put(
		to, "engine_objects_refused",
		"Refused objects: the last accepted version stays in effect, or a policy isolates.",
		objects_refused(engine->objects));
	count_put(to, "engine_objects_aside",
		  "Objects over a budget: policies that isolate what they select, Services without "
		  "backends.",
		  objects_aside(engine->objects));
	count_put(to, "engine_kinds_unread",
		  "Kinds that the server has in versions alone that are not read: what was read "
		  "before counts.",
		  objects_unread(engine->objects, unread, sizeof(unread)));
	count_put(to, "engine_objects_waiting", "Objects whose last change waits for its turn.",
		  waits.n);
	count_put(to, "engine_objects_waiting_seconds", "How long the first of these has waited.",
		  waits.n ? (api_now() - waits.since) / 1e3 : 0);
	put_generations(engine, to);
	count_put(to, "engine_compiles_total", "Compiles.", counts->compiles);
	count_put(to, "engine_compiles_patched_total",
		  "Compiles that had to look at changed Pods and EndpointSlices only.",
		  objects_patched(engine->objects));
	count_put(to, "engine_compile_seconds_total", "Time that the compiles took.",
		  counts->compile_time / 1e3);
	count_histogram(to, "engine_compile_seconds", "Time that a compile took.",
			&counts->compile_took);
	count_put(to, "engine_rollouts_total",
		  "Rollouts that reached every node which counts, of batches of this engine.",
		  counts->rollouts);
	count_put(to, "engine_rollout_seconds_total",
		  "Time that these took, each from the first change of its batch on.",
		  counts->rollout_time / 1e3);
	count_histogram(
		to, "engine_rollout_seconds",
		"Time from the first change of a batch until every node which counts has it.",
		&counts->rollout_took);
	count_events(to, events_counts(engine->events));
	count_api(to, engine->api);
	count_process(to);
}
