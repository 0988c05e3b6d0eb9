// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was set aside by the last compile of a process stays aside in the next: otherwise each
 * compile would find it out again, at the price of another pass or two. That holds for a namespace
 * whose policies are the same, and for so many compiles; then, and after each change of one of
 * these policies, the namespace is evaluated anew.
 */
#include "policy/asides.h"
#include "compile/budget.h"

#define AGAIN_MAX 32

static void put_policy(bytes_t *bytes, const struct policy_object *policy)
{
	bytes_string(bytes, policy->name);
	bytes_number(bytes, (uint32_t)policy->audit << 16 | policy->kind << 8 | policy->tier);
	bytes_number(bytes, policy->priority);
	selector_put(bytes, &policy->namespaces);
	selector_put(bytes, &policy->pods);
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		bytes_number(bytes, policy->applies[direction] << 1 | policy->isolates[direction]);
		bytes_number(bytes, policy->n_rules[direction]);
		for (size_t i = 0; i < policy->n_rules[direction]; i++)
			rule_put(bytes, &policy->rules[direction][i]);
	}
}

/* Returns a key of all policies of the namespace; "": of the cluster-scoped ones. */
static struct policy_key key_of(const struct cluster *cluster, const char *ns)
{
	bytes_t bytes = {0};
	struct policy_key key;

	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *policy = &cluster->policies[i];

		if (!strcmp(policy->ns_name ? policy->ns_name : "", ns))
			put_policy(&bytes, policy);
	}
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key;
}

void budget_note_keys(const struct cluster *cluster, struct asides *asides, unsigned int again)
{
	if (!asides)
		return;
	asides->again = again;
	for (size_t i = 0; i < asides->n; i++) {
		struct aside *aside = &asides->at[i];
		struct policy_key key;

		if (!aside->stays)
			continue;
		if (i && aside[-1].stays && !strcmp(aside[-1].ns, aside->ns)) {
			memcpy(aside->key, aside[-1].key, sizeof(aside->key));
			continue;
		}
		key = key_of(cluster, aside->ns);
		memcpy(aside->key, key.word, sizeof(aside->key));
	}
}

/* Leaves out what the last compile left out, whatever the policies are now: whoever changes one all
 * the time must not make each compile take another pass. */
static void begin_left_out(struct compiler *c, const struct cluster *given,
			   const struct asides *before)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct aside *aside = &before->at[i];
		const struct namespace *ns =
			aside->n_left_out ? cluster_namespace(given, aside->name) : NULL;

		if (ns)
			budget_leave_out(c, ns - given->namespaces, aside);
	}
}

unsigned int budgets_begin(struct compiler *c, const struct cluster *given,
			   const struct asides *before)
{
	const char *last = NULL; /* the namespace that `same` is about */
	bool same = false;

	if (!before || before->again >= AGAIN_MAX)
		return 0;
	begin_left_out(c, given, before);
	for (uint32_t i = 0; i < given->n_policies; i++) {
		const struct policy_object *policy = &given->policies[i];
		const char *ns = policy->ns_name ? policy->ns_name : "";
		const struct aside *aside =
			asides_find(before, budget_kind_of(policy), ns, policy->name);

		if (!aside || !aside->stays)
			continue;
		if (!last || strcmp(last, ns)) {
			const struct policy_key key = key_of(given, ns);

			same = !memcmp(key.word, aside->key, sizeof(aside->key));
			last = ns;
		}
		if (same)
			budget_set_aside(c, i, aside->why, aside->nameless);
	}
	return before->again + 1;
}
