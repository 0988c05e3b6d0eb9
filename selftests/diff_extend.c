// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints that come to a node whose policy has no segment for them: for a random cluster, the
 * policy compiled without some endpoints and extended by them, one after another, evaluates each
 * flow as the oracle does with these endpoints, and as a policy compiled with them. Then one of
 * them goes, and a successor that knows some of the others is extended by the rest. What two
 * policies that follow each other in the maps have under one ID is the same.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "compile/update.h"
#include "compile/extend.h"
#include "policy/isolation.h"
#include "policy/place.h"
#include "maps/blob.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 4000
#define CLUSTERS_SAMPLE 700
#define FLOWS 150 /* per policy */
#define COME_MAX 4
#define FAILURES_MAX 3

struct run {
	uint64_t seed, flows, segments, variations, extended, kept, failures;
	const char *fault; /* what failed first in this cluster */
};

/* A cluster of which some endpoints are left out. All arrays but `endpoints` are another's. */
struct world {
	struct cluster authored, whole;
	struct endpoint come[COME_MAX];
	size_t n_come;
};

static bool fails(struct run *run, bool good, const char *fault)
{
	if (!good && !run->fault)
		run->fault = fault;
	return !good;
}

/* Returns the cluster with its endpoints but those of @come that are not marked in @with. */
static struct cluster part_of(const struct cluster *cluster, const struct world *world,
			      unsigned int with)
{
	struct cluster part = *cluster;

	part.endpoints = malloc((cluster->n_endpoints + 1) * sizeof(*part.endpoints));
	part.n_endpoints = 0;
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];
		bool here = true;

		for (size_t k = 0; k < world->n_come; k++)
			if (!strcmp(endpoint->ns_name, world->come[k].ns_name) &&
			    !strcmp(endpoint->name, world->come[k].name))
				here = with & 1u << k;
		if (here)
			part.endpoints[part.n_endpoints++] = *endpoint;
	}
	return part;
}

/* Compiles with the marked endpoints; the policy has its checksum. NULL: refused. */
static struct policy *compile(const struct world *world, unsigned int with,
			      const struct policy *base)
{
	struct cluster part = part_of(&world->whole, world, with);
	struct diag silent = {0};
	struct policy *policy = NULL;
	void *bytes;
	size_t size;

	if (!compile_cluster(&part, base, &silent, &policy) && !blob_write(policy, &bytes, &size))
		free(bytes);
	free(part.endpoints);
	return policy;
}

/* Compares flows by @policy, by the oracle and by a policy that was compiled with all. */
static bool evaluates_alike(struct run *run, const struct world *world, unsigned int with,
			    const struct policy *policy, uint64_t salt)
{
	struct cluster part = part_of(&world->authored, world, with);
	struct policy *compiled = compile(world, with, NULL);
	struct random random = {run->seed ^ salt};
	char wanted[VERDICT_LINE], found[VERDICT_LINE], other[VERDICT_LINE];
	struct flow_space space;
	bool same = compiled;

	flow_space_init(&space, &world->authored);
	for (int i = 0; i < FLOWS && same; i++) {
		struct oracle_flow flow;

		generate_flow(&space, &random, &flow);
		verdict_line_oracle(&part, &flow, wanted);
		verdict_line_policy(policy, &flow, found);
		verdict_line_policy(compiled, &flow, other);
		same = !strcmp(wanted, found) && !strcmp(wanted, other);
		if (!same)
			printf("#   oracle   %s\n#   extended %s\n#   compiled %s\n", wanted, found,
			       other);
		run->flows++;
	}
	flow_space_free(&space);
	policy_free(compiled);
	free(part.endpoints);
	return same;
}

/* Places the marked endpoints, and compares flows. */
static bool is_right(struct run *run, const struct world *world, unsigned int marked,
		     unsigned int with, const struct policy *extended, uint64_t salt)
{
	struct policy_address addresses[COME_MAX][4];
	struct update_endpoint came[COME_MAX];
	struct policy copy = *extended;
	size_t n = 0;
	bool good = true;

	for (size_t k = 0; k < world->n_come; k++) {
		const struct endpoint *endpoint = &world->come[k];

		if (!(marked & 1u << k))
			continue;
		for (size_t i = 0; i < endpoint->n_addresses; i++) {
			struct placement place;

			if (fails(run,
				  !policy_place(policy_lazy(extended), endpoint,
						&endpoint->addresses[i], &place),
				  "an endpoint fits no segment of its extended policy"))
				return false;
			addresses[k][i] = (struct policy_address){.address = endpoint->addresses[i],
								  .segment = place.segment,
								  .variation = place.variation};
		}
		came[n++] = (struct update_endpoint){endpoint, addresses[k], endpoint->n_addresses};
	}
	if (fails(run, !overlay_endpoints(&copy, NULL, came, n), "no memory for an overlay"))
		return false;
	good = evaluates_alike(run, world, with, &copy, salt);
	overlay_free(&copy);
	return !fails(run, good, "a verdict differs");
}

/* Returns true if two audit records say the same. What decides is a rule, whose ID stays. */
static bool same_audit(const struct policy *a, const struct policy_audit *x, const struct policy *b,
		       const struct policy_audit *y)
{
	bool same = x->decides == y->decides && x->denies == y->denies &&
		    x->policies.n == y->policies.n;

	for (uint32_t i = 0; same && i < x->policies.n; i++)
		same = !strcmp(policy_string(a, a->texts[x->policies.at + i]),
			       policy_string(b, b->texts[y->policies.at + i]));
	return same;
}

/* Returns true if two verdict words say the same. A record of an extension gets another ID when the
 * policy itself has it. */
static bool same_verdict(const struct policy *a, uint32_t x, const struct policy *b, uint32_t y)
{
	const struct policy_audit *first = policy_audit_of(a, x), *second = policy_audit_of(b, y);

	if (!first || !second)
		return x == y;
	return (x & ~BH_RULE_MAX) == (y & ~BH_RULE_MAX) && same_audit(a, first, b, second);
}

static bool same_ports(const struct policy *a, struct bh_ports_ref x, const struct policy *b,
		       struct bh_ports_ref y)
{
	const struct bh_interval *first = a->intervals + x.at, *second = b->intervals + y.at;

	if (x.count != y.count)
		return false;
	if (!x.count || x.count == BH_PORTS_NAMED)
		return x.at == y.at;
	for (uint32_t i = 0; i < x.count; i++)
		if (first[i].start != second[i].start ||
		    !same_verdict(a, first[i].verdict, b, second[i].verdict))
			return false;
	return true;
}

static bool same_segment(const struct policy *a, const struct policy_segment *x,
			 const struct policy *b, const struct policy_segment *y)
{
	bool same = x->flags == y->flags && x->peer_own == y->peer_own &&
		    x->peer_common == y->peer_common && !memcmp(x->own, y->own, sizeof(x->own)) &&
		    !memcmp(x->common, y->common, sizeof(x->common));

	for (int i = 0; i < 4; i++)
		same &= same_ports(a, x->fallback[i / 2][i % 2], b, y->fallback[i / 2][i % 2]);
	for (uint32_t i = 0; i < x->variations.n; i++)
		for (uint32_t j = 0; j < y->variations.n; j++) {
			const struct policy_variation *v = &a->variations[x->variations.at + i];
			const struct policy_variation *w = &b->variations[y->variations.at + j];

			same &= v->id != w->id || v->resolution == w->resolution;
		}
	return same;
}

/* Returns true if entries of the maps that both policies have under one key are equal: they are in
 * the maps together while one follows the other. */
static bool can_follow(const struct policy *a, const struct policy *b)
{
	bool same = true;

	for (size_t i = 0; i < a->n_segments; i++) {
		const struct policy_segment *other = policy_segment_by_id(b, a->segments[i].id);

		if (other && !other->delete_generation && !a->segments[i].delete_generation)
			same &= same_segment(a, &a->segments[i], b, other);
	}
	for (size_t i = 0; i < a->n_pairs; i++)
		for (size_t j = 0; j < b->n_pairs; j++)
			same &= a->pairs[i].subject != b->pairs[j].subject ||
				a->pairs[i].peer != b->pairs[j].peer ||
				same_ports(a, a->pairs[i].ports, b, b->pairs[j].ports);
	for (size_t i = 0; i < a->n_named; i++)
		for (size_t j = 0; j < b->n_named; j++)
			same &= a->named[i].list != b->named[j].list ||
				a->named[i].resolution != b->named[j].resolution ||
				same_ports(a, a->named[i].ports, b, b->named[j].ports);
	return same;
}

/* The delta of an extension, written and read, gives the same policy, which passes all checks of a
 * compiled policy. */
static bool comes_back(const struct policy *policy, const struct policy *extended)
{
	struct policy own = *extended, *whole = NULL;
	struct diag errors = {.to = stdout};
	struct delta *delta = NULL;
	void *bytes = NULL, *others = NULL;
	size_t size, others_size;
	bool same = !blob_write(&own, &bytes, &size) && !extend_delta(policy, extended, &delta) &&
		    !delta_apply(delta, policy_lazy(policy), "", NULL, &errors, &whole) &&
		    !blob_write(whole, &others, &others_size) && size == others_size &&
		    !memcmp(bytes, others, size);

	free(bytes);
	free(others);
	policy_free(whole);
	delta_free(delta);
	return same;
}

static void count(struct run *run, const struct policy *policy, const struct policy *extended)
{
	run->extended++;
	run->segments += extended->n_segments - policy->n_segments;
	for (size_t i = 0; i < policy->n_segments; i++)
		run->variations +=
			extended->segments[i].variations.n - policy->segments[i].variations.n;
}

/* Extends by the marked endpoints, and checks all of the result. @with: those of which verdicts
 * know. */
static struct policy *extend(struct run *run, const struct world *world,
			     const struct policy *policy, const struct policy *before,
			     unsigned int marked, unsigned int with)
{
	struct endpoint endpoints[COME_MAX];
	struct extend job = {.policy = policy, .before = before, .endpoints = endpoints};
	struct policy *extended = NULL;

	for (size_t k = 0; k < world->n_come; k++)
		if (marked & 1u << k)
			endpoints[job.n++] = world->come[k];
	if (fails(run, !policy_extend(&job, &extended), "the policy is not extended"))
		return NULL;
	count(run, policy, extended);
	if (fails(run, comes_back(policy, extended), "the delta does not give the policy") ||
	    fails(run, !before || can_follow(before, extended),
		  "an ID means something else than before") ||
	    fails(run, can_follow(policy, extended), "an ID of the policy means something else") ||
	    !is_right(run, world, marked, with, extended, marked)) {
		policy_free(extended);
		return NULL;
	}
	return extended;
}

/* Returns true if all segments of @policy are in @extended under their IDs. */
static bool keeps_ids(const struct policy *policy, const struct policy *extended)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *other =
			policy_segment_by_id(extended, policy->segments[i].id);

		if (!other || memcmp(&other->key, &policy->segments[i].key, sizeof(other->key)))
			return false;
	}
	return true;
}

/* The endpoints come one after another; the first goes; a successor knows the first and the
 * third. */
static void go(struct run *run, const struct world *world)
{
	const unsigned int all = (1u << world->n_come) - 1, known = all & 5;
	struct policy *plain = compile(world, 0, NULL), *now = NULL, *next, *successor;
	unsigned int marked = 0;

	if (fails(run, plain, "the cluster is refused"))
		return;
	for (size_t k = 0; k < world->n_come && !run->fault; k++) {
		marked |= 1u << k;
		next = extend(run, world, plain, now, marked, marked);
		if (next && !fails(run, !now || keeps_ids(now, next), "a segment got another ID"))
			run->kept++;
		policy_free(now);
		now = next;
	}
	next = now ? extend(run, world, plain, now, all & ~1u, all & ~1u) : NULL;
	policy_free(now);
	now = next;
	successor = now ? compile(world, known, plain) : NULL;
	if (successor)
		policy_free(extend(run, world, successor, now, all & ~known, all));
	policy_free(successor);
	policy_free(now);
	policy_free(plain);
}

/* Chooses endpoints to leave out. */
static void choose(struct world *world, struct random *random)
{
	const struct cluster *whole = &world->whole;

	for (size_t i = 0; i < whole->n_endpoints && world->n_come < COME_MAX; i++)
		if (random_chance(random, 50))
			world->come[world->n_come++] = whole->endpoints[i];
}

static void check_cluster(struct run *run)
{
	struct random random = {run->seed ^ 0x657874656e64};
	struct diag silent = {0};
	struct world world = {0};

	run->fault = NULL;
	cluster_init(&world.authored);
	cluster_init(&world.whole);
	generate_cluster(&world.authored, run->seed);
	if (!generate_read(&world.authored, run->seed, &silent, &world.whole)) {
		choose(&world, &random);
		if (world.n_come)
			go(run, &world);
	}
	if (run->fault) {
		printf("# SEED=%" PRIu64 ": %s\n", run->seed, run->fault);
		for (size_t k = 0; k < world.n_come; k++)
			printf("#   %zu: %s/%s\n", k, world.come[k].ns_name, world.come[k].name);
		generate_comment(&world.authored, run->seed);
		run->failures++;
	}
	cluster_free(&world.authored);
	cluster_free(&world.whole);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++)
		check_cluster(&run);
	printf("# %" PRIu64 " clusters from seed %" PRIu64 ": extended %" PRIu64
	       " times by %" PRIu64 " segments and %" PRIu64 " variations, %" PRIu64 " flows\n",
	       seeds.count, seeds.first, run.extended, run.segments, run.variations, run.flows);
	failed = ktap_row(
		1, !run.failures,
		"an extended policy evaluates as the oracle and as a compile of everything");
	failed |= ktap_row(2, run.segments > seeds.count / 4 && run.kept,
			   "endpoints need segments that the policy lacks, which keep their IDs");
	return failed;
}
