// SPDX-License-Identifier: GPL-2.0-only
#include "compile/reduce.h"

#include <string.h>

#include "compile/grow.h"
#include "maps/segment.h"

/* The state of a policy's reduction. */
struct reducer {
	const struct policy *policy;
	const struct locality *locality;
	struct policy *reduced;
	uint32_t *segment_at; /* new index, by index of the policy's segments */
	uint32_t *interval_at; /* new index, by index of the policy's intervals */
};

static bool is_list(struct bh_ports_ref ports)
{
	return ports.count && ports.count != BH_PORTS_NAMED;
}

/* Calls @visit for each reference to ports in the reduced tables. */
static void each_ports(struct reducer *r, void (*visit)(struct reducer *, struct bh_ports_ref *))
{
	struct policy *reduced = r->reduced;

	for (size_t i = 0; i < reduced->n_segments; i++)
		for (int j = 0; j < 4; j++)
			visit(r, &reduced->segments[i].fallback[j / 2][j % 2]);
	for (size_t i = 0; i < reduced->n_pairs; i++)
		visit(r, &reduced->pairs[i].ports);
	for (size_t i = 0; i < reduced->n_named; i++)
		visit(r, &reduced->named[i].ports);
}

static void mark_list(struct reducer *r, struct bh_ports_ref *ports)
{
	for (uint32_t i = 0; is_list(*ports) && i < ports->count; i++)
		r->interval_at[ports->at + i] = 1;
}

static void move_list(struct reducer *r, struct bh_ports_ref *ports)
{
	if (is_list(*ports))
		ports->at = r->interval_at[ports->at];
}

static void reduce_intervals(struct reducer *r)
{
	const struct policy *policy = r->policy;
	struct policy *reduced = r->reduced;

	r->interval_at = grow_zeroed(policy->n_intervals, sizeof(*r->interval_at));
	reduced->intervals = grow_zeroed(policy->n_intervals, sizeof(*reduced->intervals));
	reduced->n_intervals = 0;
	each_ports(r, mark_list);
	for (size_t i = 0; i < policy->n_intervals; i++) {
		bool stays = r->interval_at[i];

		r->interval_at[i] = reduced->n_intervals;
		if (stays)
			reduced->intervals[reduced->n_intervals++] = policy->intervals[i];
	}
	each_ports(r, move_list);
	free(r->interval_at);
}

/* Copies the records of a table that stay. */
#define REDUCE(r, name)                                                                  \
	do {                                                                             \
		(r)->reduced->name =                                                     \
			grow_zeroed((r)->policy->n_##name, sizeof(*(r)->reduced->name)); \
		(r)->reduced->n_##name = 0;                                              \
		for (size_t i_ = 0; i_ < (r)->policy->n_##name; i_++)                    \
			if ((r)->locality->name[i_])                                     \
				(r)->reduced->name[(r)->reduced->n_##name++] =           \
					(r)->policy->name[i_];                           \
	} while (0)

static void reduce_segments(struct reducer *r)
{
	const struct policy *policy = r->policy;
	struct policy *reduced = r->reduced;
	uint32_t next = 0;

	r->segment_at = grow_zeroed(policy->n_segments, sizeof(*r->segment_at));
	for (size_t i = 0; i < policy->n_segments; i++)
		if (r->locality->segments[i])
			r->segment_at[i] = next++;
	reduced->variations = grow_zeroed(policy->n_variations, sizeof(*reduced->variations));
	reduced->n_variations = 0;
	for (size_t i = 0; i < reduced->n_segments; i++) {
		struct policy_range *range = &reduced->segments[i].variations;

		if (range->n)
			memcpy(reduced->variations + reduced->n_variations,
			       policy->variations + range->at,
			       range->n * sizeof(*policy->variations));
		range->at = reduced->n_variations;
		reduced->n_variations += range->n;
	}
}

void policy_reduce(const struct policy *policy, const struct locality *locality,
		   struct policy *reduced)
{
	struct reducer r = {.policy = policy, .locality = locality, .reduced = reduced};

	*reduced = *policy;
	REDUCE(&r, addresses);
	REDUCE(&r, prefixes);
	REDUCE(&r, segments);
	REDUCE(&r, pairs);
	REDUCE(&r, named);
	REDUCE(&r, domains);
	reduce_segments(&r);
	for (size_t i = 0; i < reduced->n_addresses; i++)
		if (reduced->addresses[i].segment != POLICY_NOWHERE)
			reduced->addresses[i].segment = r.segment_at[reduced->addresses[i].segment];
	for (size_t i = 0; i < reduced->n_prefixes; i++)
		reduced->prefixes[i].segment = r.segment_at[reduced->prefixes[i].segment];
	for (size_t i = 0; i < reduced->n_domains; i++) {
		struct policy_domain *domain = &reduced->domains[i];

		domain->from = r.segment_at[domain->from];
		domain->segment = r.segment_at[domain->segment];
	}
	reduce_intervals(&r);
	free(r.segment_at);
}

void policy_reduced_free(struct policy *reduced)
{
	free(reduced->addresses);
	free(reduced->prefixes);
	free(reduced->domains);
	free(reduced->segments);
	free(reduced->variations);
	free(reduced->pairs);
	free(reduced->intervals);
	free(reduced->named);
}
