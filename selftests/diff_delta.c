// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deltas: a random cluster changes step by step. The policy of the last step and
 * the delta make, byte for byte, the policy that a compile of the whole cluster
 * makes; so do the first policy and the composition of all deltas since. A delta
 * of another policy is refused, and so is a damaged delta.
 *
 * generate_seeds() chooses the clusters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/delta.h"
#include "model/cluster_service.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"

#define CLUSTERS 4000
#define CLUSTERS_SAMPLE 800
#define STEPS 6
#define FAILURES_MAX 3

struct bytes {
	void *at;
	size_t size;
};

struct run {
	uint64_t seed, steps, changes, whole_bytes, change_bytes, sum_bytes, refused, failures;
};

/* The two clusters that a step takes its objects from, and the cluster that changes. */
struct world {
	struct cluster first, second;
	struct cluster now; /* owns its arrays; their records point into the other two */
};

#define COPY_ARRAY(to, from, name)                                                                \
	do {                                                                                      \
		free((to)->name);                                                                 \
		(to)->name = malloc(((from)->n_##name + 1) * sizeof(*(to)->name));                \
		if ((from)->n_##name)                                                             \
			memcpy((to)->name, (from)->name, (from)->n_##name * sizeof(*(to)->name)); \
		(to)->n_##name = (from)->n_##name;                                                \
	} while (0)

static void take_objects(struct world *world, const struct cluster *from)
{
	COPY_ARRAY(&world->now, from, namespaces);
	COPY_ARRAY(&world->now, from, nodes);
	COPY_ARRAY(&world->now, from, endpoints);
	COPY_ARRAY(&world->now, from, host_pods);
	COPY_ARRAY(&world->now, from, services);
	COPY_ARRAY(&world->now, from, slices);
}

static void take_policies(struct world *world, const struct cluster *from)
{
	COPY_ARRAY(&world->now, from, policies);
}

static void world_open(struct world *world, uint64_t seed)
{
	*world = (struct world){0};
	cluster_init(&world->first);
	cluster_init(&world->second);
	generate_cluster(&world->first, seed);
	generate_cluster(&world->second, seed + 1000000);
	if (seed % 3)
		generate_services(&world->first, seed);
	if (seed % 3 == 1)
		generate_services(&world->second, seed + 1000000);
	take_objects(world, &world->first);
	take_policies(world, &world->first);
}

static void world_close(struct world *world)
{
	free(world->now.namespaces);
	free(world->now.nodes);
	free(world->now.endpoints);
	free(world->now.host_pods);
	free(world->now.services);
	free(world->now.slices);
	free(world->now.policies);
	cluster_free(&world->first);
	cluster_free(&world->second);
}

/* Removes a random record of an array. */
#define DROP(cluster, name, random)                                                         \
	do {                                                                                \
		const size_t n = (cluster)->n_##name, at = n ? random_below(random, n) : 0; \
                                                                                            \
		if (n)                                                                      \
			memmove(&(cluster)->name[at], &(cluster)->name[at + 1],             \
				(n - at - 1) * sizeof(*(cluster)->name));                   \
		(cluster)->n_##name = n ? n - 1 : 0;                                        \
	} while (0)

/* Swaps the labels of two endpoints of the cluster. */
static void swap_labels(struct world *world, struct random *random)
{
	struct cluster *now = &world->now;
	struct endpoint *a, *b;
	struct labels labels;

	if (!now->n_endpoints)
		return;
	a = &now->endpoints[random_below(random, now->n_endpoints)];
	b = &now->endpoints[random_below(random, now->n_endpoints)];
	labels = a->labels;
	a->labels = b->labels;
	b->labels = labels;
}

static void change(struct world *world, struct random *random)
{
	switch (random_below(random, 8)) {
	case 0:
		take_objects(world, &world->first);
		break;
	case 1:
		take_objects(world, &world->second);
		break;
	case 2:
		take_policies(world, random_chance(random, 50) ? &world->first : &world->second);
		break;
	case 3:
		DROP(&world->now, policies, random);
		break;
	case 4:
		DROP(&world->now, services, random);
		break;
	case 5:
		break;
	case 6:
		swap_labels(world, random);
		break;
	default:
		DROP(&world->now, endpoints, random);
	}
}

static bool make_whole(struct policy *policy, struct bytes *bytes)
{
	return !blob_write(policy, &bytes->at, &bytes->size);
}

/* Returns true if the delta makes exactly @wanted of @base. */
static bool leads_to(const struct bytes *file, const struct policy *base,
		     const struct bytes *wanted, struct policy **result)
{
	struct diag diag = {.to = stdout};
	struct delta *delta = NULL;
	struct bytes whole = {0};
	bool good = !delta_read(file->at, file->size, NULL, &diag, &delta) &&
		    !delta_apply(delta, policy_lazy(base), "the base", NULL, &diag, result) &&
		    make_whole(*result, &whole);

	good = good && whole.size == wanted->size && !memcmp(whole.at, wanted->at, whole.size);
	free(whole.at);
	delta_free(delta);
	return good;
}

/* Returns true if the delta is refused with a reason, and no policy is made. */
static bool is_refused(const struct bytes *file, const struct policy *base)
{
	struct diag diag = {0};
	struct policy *policy = NULL;
	struct delta *delta = NULL;
	bool refused = delta_read(file->at, file->size, NULL, &diag, &delta) == -EINVAL ||
		       (delta && delta_apply(delta, policy_lazy(base), "it", NULL, &diag,
					     &policy) == -EINVAL);

	policy_free(policy);
	delta_free(delta);
	return refused && diag.errors == 1;
}

/* A delta is refused with another base, without one, with a wrong byte, and without its last
 * bytes. */
static bool refuses(struct run *run, const struct bytes *file, const struct policy *other,
		    struct random *random)
{
	struct bytes bad = {malloc(file->size), file->size};
	const size_t at = random_below(random, file->size);
	bool good = is_refused(file, other) && is_refused(file, NULL);

	memcpy(bad.at, file->at, file->size);
	((unsigned char *)bad.at)[at] ^= 1u << random_below(random, 8);
	good = good && is_refused(&bad, other);
	memcpy(bad.at, file->at, file->size);
	bad.size = at;
	good = good && is_refused(&bad, other);
	free(bad.at);
	run->refused += 4;
	return good;
}

/* Only a delta in memory may lack the checksum of its policy: a file without it is refused, also
 * where its base is active. */
static bool refuses_unsummed(struct run *run, struct delta *delta, const struct policy *base)
{
	uint64_t *checksum = &((struct delta_header *)delta->payload)->checksum;
	const uint64_t kept = *checksum;
	struct bytes file = {0};
	bool good;

	*checksum = 0;
	good = !delta_write(delta, &file.at, &file.size) && is_refused(&file, base);
	*checksum = kept;
	free(file.at);
	run->refused++;
	return good;
}

/* A cluster's policies along a walk of random steps. */
struct way {
	struct policy *start, *now; /* compiled whole */
	struct policy *made; /* @now, made by loading each delta after the last */
	struct delta *sum; /* of all deltas since @start; NULL: none yet */
};

static void way_end(struct way *way)
{
	policy_free(way->start);
	policy_free(way->now);
	policy_free(way->made);
	delta_free(way->sum);
}

/* Takes ownership of @delta and composes it with the sum. */
static bool add_up(struct way *way, struct delta *delta)
{
	struct diag diag = {.to = stdout};
	struct delta *first = way->sum;
	void *payload;
	size_t size;
	bool good = true;

	way->sum = delta;
	if (!first)
		return true;
	way->sum = NULL;
	good = !delta_compose(first, delta, &payload, &size) &&
	       !delta_open(payload, size, NULL, &diag, &way->sum);
	delta_free(first);
	delta_free(delta);
	return good;
}

static bool sum_leads_to(const struct way *way, const struct bytes *wanted)
{
	struct policy *whole = NULL;
	struct bytes file = {0};
	bool good = !delta_write(way->sum, &file.at, &file.size) &&
		    leads_to(&file, way->start, wanted, &whole);

	policy_free(whole);
	free(file.at);
	return good;
}

static void go_on(struct way *way, struct policy *next, struct policy *made)
{
	policy_free(way->now);
	policy_free(way->made);
	way->now = next;
	way->made = made;
}

static bool step(struct run *run, struct world *world, struct random *random, struct way *way)
{
	struct policy *next = NULL, *then = NULL;
	struct bytes whole = {0}, file = {0};
	struct delta *delta = NULL;
	bool good;

	change(world, random);
	/* Two pods may have the same address now, which no cluster may: the step is left out. */
	if (generate_policy(&world->now, run->seed, way->now, NULL, &next))
		return true;
	good = make_whole(next, &whole) && !delta_make(way->now, next, &delta) &&
	       !delta_write(delta, &file.at, &file.size) &&
	       leads_to(&file, way->made, &whole, &then) &&
	       (next->checksum == way->now->checksum || refuses(run, &file, then, random)) &&
	       refuses_unsummed(run, delta, way->now) && add_up(way, delta) &&
	       sum_leads_to(way, &whole);
	run->steps++;
	run->changes += next->checksum != way->now->checksum;
	run->whole_bytes += whole.size;
	run->change_bytes += file.size;
	run->sum_bytes += way->sum ? way->sum->size : 0;
	go_on(way, next, then);
	free(whole.at);
	free(file.at);
	return good;
}

/* Compiles the policy and reads it from its blob, so that it has its checksum. */
static bool compile(const struct run *run, const struct world *world, struct policy **policy)
{
	struct bytes whole = {0};
	bool good = !generate_policy(&world->now, run->seed, NULL, NULL, policy) &&
		    make_whole(*policy, &whole);

	free(whole.at);
	return good;
}

static void check_cluster(struct run *run)
{
	struct random random = {run->seed ^ 0x64656c7461};
	struct way way = {0};
	struct world world;
	bool good;

	world_open(&world, run->seed);
	good = compile(run, &world, &way.start) && compile(run, &world, &way.now) &&
	       compile(run, &world, &way.made);
	for (int i = 0; i < STEPS && good; i++)
		good = step(run, &world, &random, &way);
	if (!good) {
		printf("# SEED=%" PRIu64 " fails; the cluster at last:\n", run->seed);
		generate_comment(&world.now, run->seed);
		run->failures++;
	}
	way_end(&way);
	world_close(&world);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++)
		check_cluster(&run);
	printf("# %" PRIu64 " clusters from seed %" PRIu64 ", %" PRIu64 " steps, %" PRIu64
	       " of them changes; %" PRIu64 " bytes whole, %" PRIu64 " as changes, %" PRIu64
	       " summed up, as they are in memory; %" PRIu64 " refused\n",
	       seeds.count, seeds.first, run.steps, run.changes, run.whole_bytes, run.change_bytes,
	       run.sum_bytes, run.refused);
	failed = ktap_row(1, !run.failures, "changes one after another come to the whole policies");
	failed |= ktap_row(2, seeds.count < 10 || run.changes > seeds.count,
			   "there were changes, so that the first test says something");
	return failed;
}
