// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include <sodium.h>

#include "policy/asides.h"
#include "compile/budget.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* Rules that one rule's relations were resolved to share its ID. */
void compiler_name_rules(struct compiler *c)
{
	for (size_t i = 0; i < c->rules.n; i++) {
		struct plain_rule *rule = &c->rules.at[i];

		if (i && plain_rules_are_one(rule, rule - 1))
			rule->id = c->rules.at[i - 1].id;
		else
			rule->id = lineage_rule(c->lineage, rule);
	}
}

/* Puts a namespace over its budget if there are too many segments. If none has any part in them,
 * reports the first endpoint, or else the first CIDR, that needs a segment beyond the limit. */
static void check_limits(struct compiler *c)
{
	const struct where *where = NULL;
	char name[600] = "";

	if (c->segments.n <= SEGMENTS_MAX || budget_any_over(c) || budget_fewer_segments(c))
		return;
	for (size_t i = 0; i < c->addresses.n && !where; i++) {
		const struct endpoint *endpoint =
			&c->cluster->endpoints[c->addresses.at[i].endpoint];

		if (c->addresses.at[i].segment < SEGMENTS_MAX)
			continue;
		where = &endpoint->where;
		snprintf(name, sizeof(name), "%s/%s", endpoint->ns_name, endpoint->name);
	}
	for (size_t i = 0; i < c->regions.n && !*name; i++)
		if (c->regions.at[i].segment >= SEGMENTS_MAX)
			cidr_print(&c->regions.at[i].cidr, name);
	diag_error(c->diag, where, "segments", "%s needs one beyond the limit of %u, of %zu in all",
		   name, SEGMENTS_MAX, c->segments.n);
	c->too_big = true;
}

void compiler_free(struct compiler *c)
{
	struct intern *interns[] = {&c->matcher_bytes, &c->rule_keys,	   &c->sets,
				    &c->names,	       &c->port_names,	   &c->resolutions,
				    &c->segment_bytes, &c->peer_bytes,	   &c->subject_bytes,
				    &c->rule_lists,    &c->interval_lists, &c->needs,
				    &c->audit_bytes,   &c->name_use_keys};

	for (size_t i = 0; i < sizeof(interns) / sizeof(*interns); i++)
		intern_free(interns[i]);
	for (size_t i = 0; i < c->units.n; i++) {
		array_free(&c->units.at[i].rules[INGRESS]);
		array_free(&c->units.at[i].rules[EGRESS]);
	}
	for (size_t i = 0; i < c->segments.n; i++)
		array_free(&c->segments.at[i].resolutions);
	array_free(&c->matchers);
	array_free(&c->clauses);
	array_free(&c->rules);
	array_free(&c->units);
	array_free(&c->negative_subjects);
	array_free(&c->negative_names);
	array_free(&c->name_uses);
	array_free(&c->regions);
	array_free(&c->domains);
	array_free(&c->segments);
	array_free(&c->addresses);
	array_free(&c->peers);
	array_free(&c->subjects);
	array_free(&c->audits);
	array_free(&c->verdicts);
	array_free(&c->common_pairs);
	array_free(&c->pairs);
	obstack_free(&c->memory, NULL);
	lineage_close(c->lineage);
}

struct compilation {
	struct compiler c;
	const struct cluster *cluster;
	const struct asides *before;
	struct policy *policy; /* NULL: the compile failed */
};

/* Runs the steps of a compile until one leaves out work of what is over a budget. */
static void run_steps(struct compilation *compilation)
{
	struct compiler *c = &compilation->c;

	rules_build(c);
	compiler_name_rules(c);
	if (!budget_any_over(c))
		regions_build(c);
	if (budget_any_over(c))
		return;
	segments_begin(c);
	segments_place(c);
	domains_build(c);
	budget_charge_variations(c);
	check_limits(c);
	if (c->too_big || budget_any_over(c))
		return;
	reach_build(c);
	if (!c->too_big && !budget_any_over(c))
		compilation->policy = tables_build(c);
}

/* Frees the work of a compile, and keeps its accounts. */
static void begin_again(struct compilation *compilation)
{
	struct compiler *c = &compilation->c;
	const struct compiler next = {.cluster = c->cluster,
				      .base = c->base,
				      .first = c->first,
				      .diag = c->diag,
				      .budgets = c->budgets};

	policy_free(compilation->policy);
	compilation->policy = NULL;
	compiler_free(c);
	*c = next;
	obstack_init(&c->memory);
	c->lineage = lineage_open(c->base);
}

static int build(void *data)
{
	struct compilation *compilation = data;
	struct compiler *c = &compilation->c;
	unsigned int again;

	obstack_init(&c->memory);
	budgets_open(c);
	budget_check_services(c);
	budget_check_baseline(c);
	again = budgets_begin(c, compilation->cluster, compilation->before);
	c->lineage = lineage_open(c->base);
	run_steps(compilation);
	while (budget_any_over(c)) {
		budgets_apply(c);
		begin_again(compilation);
		run_steps(compilation);
	}
	if (c->too_big)
		return -E2BIG;
	compilation->policy->asides = budgets_asides(c);
	budget_note_keys(compilation->cluster, compilation->policy->asides, again);
	return 0;
}

static void warn(struct diag *diag, const struct asides *asides)
{
	for (size_t i = 0; asides && i < asides->n; i++) {
		const struct aside *aside = &asides->at[i];
		char name[600];

		snprintf(name, sizeof(name), "%s%s%s", aside->ns, *aside->ns ? "/" : "",
			 aside->name);
		diag_warn(diag, &aside->where, name, "is set aside, and %s: %s", aside->effect,
			  aside->why);
	}
}

int compile_again(const struct cluster *cluster, const struct policy *base,
		  const struct asides *before, struct diag *diag, struct policy **policy)
{
	const bool ends = base && lineage_is_used_up(base);
	struct compilation compilation = {.c = {.cluster = cluster,
						.base = ends ? NULL : base,
						.first = base ? base->generation + 1 : 1,
						.diag = diag},
					  .cluster = cluster,
					  .before = before};
	int error;

	if (sodium_init() < 0) {
		diag_error(diag, NULL, NULL, "cannot compile: libsodium does not start");
		return -ENOSYS;
	}
	error = memory_guarded(build, &compilation);
	if (error == -ENOMEM)
		diag_error(diag, NULL, NULL, "cannot compile: there is not enough memory");
	if (error) {
		policy_free(compilation.policy);
	} else {
		warn(diag, compilation.policy->asides);
		if (ends)
			diag_note(diag, NULL, NULL,
				  "the IDs of the policy's lineage are used up: a new one begins");
		*policy = compilation.policy;
	}
	compiler_free(&compilation.c);
	budgets_close(compilation.c.budgets);
	return error;
}

int compile_cluster(const struct cluster *cluster, const struct policy *base, struct diag *diag,
		    struct policy **policy)
{
	return compile_again(cluster, base, NULL, diag, policy);
}
