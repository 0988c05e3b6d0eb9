// SPDX-License-Identifier: GPL-2.0-only
#include "compile/budget_accounts.h"

#include <stdio.h>

#include "model/cluster_service.h"

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define NAMED_MAX 3 /* namespaces that a reason names */

/* Takes the rules from a policy. It isolates its subjects where it isolated them; an
 * administrator's policy denies them everything in the directions in which it has rules. */
static void close_policy(struct policy_object *policy)
{
	static struct rule deny = {
		.name = "set-aside", .action = ACTION_DENY, .any_peer = true, .any_port = true};
	const bool admin = policy->tier != TIER_NETWORK_POLICY;

	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		policy->n_rules[direction] = admin && policy->n_rules[direction];
		policy->rules[direction] = policy->n_rules[direction] ? &deny : NULL;
	}
}

/* Returns true if the port names of the endpoint's namespace have no numbers. */
static bool is_nameless(const struct asides *asides, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < asides->n; i++) {
		const struct aside *aside = &asides->at[i];

		if (aside->nameless && !strcmp(asides_namespace(aside), endpoint->ns_name))
			return true;
	}
	return false;
}

/* @aside: of the policy's Namespace; NULL: nothing of it is set aside. */
static void rewrite(struct policy_object *policy, const struct aside *aside, struct obstack *memory)
{
	if (aside && aside->n_left_out)
		strangers_rewrite(policy, (const char *const *)aside->left_out, aside->n_left_out,
				  memory);
}

void budget_close_objects(struct cluster *cluster, const struct asides *asides)
{
	for (size_t i = 0; asides && i < cluster->n_policies; i++) {
		struct policy_object *policy = &cluster->policies[i];

		if (asides_find(asides, budget_kind_of(policy),
				policy->ns_name ? policy->ns_name : "", policy->name))
			close_policy(policy);
		else if (policy->ns_name)
			rewrite(policy, asides_find(asides, "Namespace", "", policy->ns_name),
				&cluster->memory);
	}
	for (size_t i = 0; asides && i < cluster->n_endpoints; i++)
		if (is_nameless(asides, &cluster->endpoints[i]))
			cluster->endpoints[i].n_ports = 0;
}

static char *copy_text(const char *text)
{
	char *copied = strdup(text ? text : "");

	if (!copied)
		memory_exhausted();
	return copied;
}

static void set_aside(struct budgets *b, uint32_t policy, const char *why)
{
	if (b->aside[policy])
		return;
	b->why[policy] = copy_text(why);
	b->aside[policy] = true;
	close_policy(&b->policies[policy]);
}

/* Returns the names of the namespaces that are left out, in memory of @b's. */
static const char **left_out_names(struct budgets *b, uint32_t ns)
{
	const numbers_t *left_out = &b->left_out[ns];
	const char **names = obstack_alloc(&b->memory, (left_out->n + 1) * sizeof(*names));

	for (size_t i = 0; i < left_out->n; i++)
		names[i] = b->given->namespaces[left_out->at[i]].name;
	return names;
}

/* Says why namespaces are left out, and names three. */
static char *why_left_out(const char *why, const char *const *names, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		memory_exhausted();
	fprintf(to, "%s, most of it for pods of ", why);
	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		fprintf(to, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMED_MAX)
		fprintf(to, " and %zu more", n - NAMED_MAX);
	if (fclose(to))
		memory_exhausted();
	return text;
}

/* Lets the policies of a namespace match no pods of those that are left out. Takes @why. */
static void leave_out(struct budgets *b, uint32_t ns, char *why)
{
	const char **names = left_out_names(b, ns);

	free(b->left_out_why[ns]);
	b->left_out_why[ns] = why;
	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		if (b->ns_of[i] != ns || b->aside[i])
			continue;
		accounts_copy_policy(b, i);
		strangers_rewrite(&b->policies[i], names, b->left_out[ns].n, &b->memory);
	}
}

/* Returns true if strangers have put the account over its budget. They are left out then. */
static bool spare(struct budgets *b, const struct account *account)
{
	const uint32_t ns = account_ns(b, account);

	return account->over && ns != BUDGET_NOBODY &&
	       strangers_leave_out(&b->strangers, account_number(b, account), account->over_by,
				   account->spent[account->over_by], &b->left_out[ns]);
}

/* Returns by namespace what strangers have put over its budget, to be freed; NULL: nothing. */
static const struct account **spare_namespaces(struct budgets *b)
{
	const struct account **spared = grow_zeroed(b->given->n_namespaces, sizeof(*spared));

	for (uint32_t i = 0; i < b->given->n_policies; i++)
		if (spare(b, &b->objects[i]))
			spared[b->ns_of[i]] = &b->objects[i];
	for (uint32_t i = 0; i < b->given->n_namespaces; i++) {
		if (spare(b, &b->namespaces[i]))
			spared[i] = &b->namespaces[i];
		if (!spared[i])
			continue;
		numbers_sort(&b->left_out[i]);
		leave_out(b, i,
			  why_left_out(spared[i]->why, left_out_names(b, i), b->left_out[i].n));
	}
	return spared;
}

void budgets_apply(struct compiler *c)
{
	struct budgets *b = c->budgets;
	const struct account **spared = spare_namespaces(b);

	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		const struct account *ns =
			b->ns_of[i] == BUDGET_NOBODY ? NULL : &b->namespaces[b->ns_of[i]];

		if (ns && spared[b->ns_of[i]])
			continue;
		if (ns && ns->over)
			set_aside(b, i, ns->why);
		else if (b->objects[i].over)
			set_aside(b, i, b->objects[i].why);
	}
	free(spared);
	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		if (!b->namespaces[i].nameless || b->nameless[i])
			continue;
		b->nameless[i] = true;
		b->ns_why[i] = copy_text(b->namespaces[i].why);
	}
	accounts_close(b);
	accounts_open(b);
}

void budget_leave_out(struct compiler *c, uint32_t ns, const struct aside *aside)
{
	struct budgets *b = c->budgets;

	for (size_t i = 0; i < aside->n_left_out; i++) {
		const struct namespace *found = cluster_namespace(b->given, aside->left_out[i]);

		if (found)
			array_push(&b->left_out[ns], found - b->given->namespaces);
	}
	if (!b->left_out[ns].n)
		return;
	numbers_sort(&b->left_out[ns]);
	leave_out(b, ns, copy_text(aside->why));
}

void budget_set_aside(struct compiler *c, uint32_t policy, const char *why, bool nameless)
{
	struct budgets *b = c->budgets;

	set_aside(b, policy, why);
	if (nameless && b->ns_of[policy] != BUDGET_NOBODY)
		b->nameless[b->ns_of[policy]] = true;
}

void budget_check_baseline(struct compiler *c)
{
	const struct budgets *b = c->budgets;
	const struct policy_object *first = NULL;
	char why[400];

	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		const struct policy_object *policy = &b->given->policies[i];

		if (policy->kind != POLICY_BASELINE_ADMIN)
			continue;
		if (first) {
			snprintf(
				why, sizeof(why),
				"the cluster has one BaselineAdminNetworkPolicy, and %.253s is it: "
				"use ClusterNetworkPolicies of the tier Baseline for more",
				first->name);
			set_aside(c->budgets, i, why);
		}
		first = first ? first : policy;
	}
}

const char *budget_kind_of(const struct policy_object *policy)
{
	static const char *const kinds[] = {[POLICY_NETWORK] = "NetworkPolicy",
					    [POLICY_NETWORK_V1BETA1] = "NetworkPolicy",
					    [POLICY_ADMIN] = "AdminNetworkPolicy",
					    [POLICY_CLUSTER] = "ClusterNetworkPolicy",
					    [POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy"};

	return kinds[policy->kind];
}

void budget_close_service(struct compiler *c, size_t service, const char *why)
{
	struct budgets *b = c->budgets;

	b->service_why[service] = copy_text(why);
	b->services[service].closed = true;
}

static struct aside *add_aside(struct asides **asides, size_t most)
{
	if (!*asides) {
		*asides = grow_zeroed(1, sizeof(**asides));
		(*asides)->at = grow_zeroed(most, sizeof(*(*asides)->at));
	}
	return &(*asides)->at[(*asides)->n++];
}

/* Adds the Namespaces whose policies do not match the pods of some others. */
static void add_left_out(struct budgets *b, struct asides **asides, size_t most)
{
	for (uint32_t i = 0; i < b->given->n_namespaces; i++) {
		const struct namespace *ns = &b->given->namespaces[i];
		const size_t n = b->left_out[i].n;
		const char **names;
		struct aside *aside;

		if (!n)
			continue;
		names = left_out_names(b, i);
		aside = add_aside(asides, most);
		*aside = (struct aside){.ns = copy_text(NULL),
					.name = copy_text(ns->name),
					.why = copy_text(b->left_out_why[i]),
					.effect = "its NetworkPolicies match no pods of some "
						  "other namespaces",
					.kind = "Namespace",
					.nameless = b->nameless[i],
					.left_out = grow_zeroed(n, sizeof(*aside->left_out)),
					.n_left_out = n,
					.where = ns->where};
		for (size_t k = 0; k < n; k++)
			aside->left_out[k] = copy_text(names[k]);
	}
}

struct asides *budgets_asides(const struct compiler *c)
{
	struct budgets *b = c->budgets;
	const size_t most = b->given->n_policies + b->given->n_namespaces + b->given->n_services;
	struct asides *asides = NULL;

	for (size_t i = 0; i < b->given->n_policies; i++) {
		const struct policy_object *policy = &b->given->policies[i];

		if (!b->aside[i])
			continue;
		*add_aside(&asides, most) = (struct aside){
			.stays = true,
			.ns = copy_text(policy->ns_name),
			.name = copy_text(policy->name),
			.why = copy_text(b->why[i]),
			.effect = "isolates what it selects",
			.nameless = b->ns_of[i] != BUDGET_NOBODY && b->nameless[b->ns_of[i]],
			.kind = budget_kind_of(policy),
			.where = policy->where};
	}
	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		const struct namespace *ns = &b->given->namespaces[i];

		if (b->ns_why[i] && !b->left_out[i].n)
			*add_aside(&asides, most) =
				(struct aside){.ns = copy_text(NULL),
					       .name = copy_text(ns->name),
					       .why = copy_text(b->ns_why[i]),
					       .effect = "its pods have no named ports",
					       .kind = "Namespace",
					       .nameless = true,
					       .where = ns->where};
	}
	add_left_out(b, &asides, most);
	for (size_t i = 0; i < b->given->n_services; i++) {
		const struct service *service = &b->services[i];

		if (b->service_why[i])
			*add_aside(&asides, most) =
				(struct aside){.ns = copy_text(service->ns_name),
					       .name = copy_text(service->name),
					       .why = copy_text(b->service_why[i]),
					       .effect = "its addresses have no backends",
					       .kind = "Service",
					       .where = service->where};
	}
	asides_sort(asides);
	return asides;
}

bool budget_numbers_ports(const struct compiler *c, uint32_t ns)
{
	return !c->budgets || !c->budgets->nameless[ns];
}
