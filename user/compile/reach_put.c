// SPDX-License-Identifier: GPL-2.0-only
/* Fills the tables that say what the segments may reach: classes, pairs, port lists and domains. */
#include <string.h>

#include "compile/tables.h"
#include "policy/evaluate.h"

/* Returns a port list of the compiler's as a record refers to it. All of these lists are put last,
 * except beside those of `begun`. */
struct bh_ports_ref tables_ports(struct tables *t, struct bh_ports_ref ports)
{
	size_t n;
	const struct bh_interval *from = ports_intervals(t->c, &n) + ports.at;
	uint32_t number;
	bool fresh;

	if (!t->begun || !ports.count || ports.count == BH_PORTS_NAMED)
		return ports;
	/* the compiler has each list once */
	number = intern_add(&t->lists, &ports.at, sizeof(ports.at), &fresh);
	if (fresh) {
		array_push(&t->list_at, t->policy->n_intervals);
		for (uint32_t i = 0; i < ports.count; i++)
			table_push(t, intervals, from[i]);
	}
	return (struct bh_ports_ref){t->list_at.at[number], ports.count};
}

static int compare_domains(const void *a, const void *b, void *strings)
{
	const struct policy_domain *x = a, *y = b;
	int order = strcmp((const char *)strings + x->name, (const char *)strings + y->name);

	return order ? order : x->class < y->class ? -1 : x->class > y->class;
}

/* Puts the domains of the classes of subjects for which `begun` has none. */
static void put_domains(struct tables *t)
{
	struct compiler *c = t->c;
	struct policy *policy = t->policy;
	struct intern known = {0};

	for (size_t i = 0; t->begun && i < t->begun->n_domains; i++)
		intern_add(&known, &t->begun->domains[i].class, sizeof(uint32_t), NULL);
	for (size_t i = 0; i < c->domains.n; i++) {
		const struct domain *domain = &c->domains.at[i];
		const uint32_t class = c->subjects.at[domain->subject].id;

		if (intern_find(&known, &class, sizeof(class)) == INTERN_NONE)
			table_push(t, domains,
				   ((struct policy_domain){tables_string(t, domain->name), class,
							   t->segment_index[domain->segment]}));
	}
	intern_free(&known);
	if (policy->n_domains)
		qsort_r(policy->domains, policy->n_domains, sizeof(*policy->domains),
			compare_domains, policy->strings);
}

static int compare_classes(const void *a, const void *b)
{
	const struct policy_class *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_class(struct tables *t, const struct policy_key *key, uint32_t id)
{
	if (id && !table_begun(t, classes, compare_classes, .id = id))
		table_push(t, classes, ((struct policy_class){*key, id, 0}));
}

static void put_classes(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->peers.n; i++)
		put_class(t, &c->peers.at[i].key, c->peers.at[i].id);
	for (size_t i = 0; i < c->subjects.n; i++)
		put_class(t, &c->subjects.at[i].key, c->subjects.at[i].id);
	table_sort(t, classes, compare_classes);
}

static void put_pairs(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->pairs.n; i++) {
		const struct pair *pair = &c->pairs.at[i];

		if (!table_begun(t, pairs, evaluate_compare_pairs, pair->subject, pair->peer, {0}))
			table_push(t, pairs,
				   ((struct policy_pair){
					   pair->subject, pair->peer,
					   tables_ports(t, c->verdicts.at[pair->verdicts].ports)}));
	}
	table_sort(t, pairs, evaluate_compare_pairs);
}

static int compare_named(const void *a, const void *b)
{
	const struct policy_named *x = a, *y = b;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	return x->resolution < y->resolution ? -1 : x->resolution > y->resolution;
}

static void put_named(struct tables *t, const uint32_t *resolution_ids)
{
	struct compiler *c = t->c;

	for (uint32_t i = 0; i < c->needs.entries.n; i++) {
		struct need need;
		struct bh_ports_ref ports;
		size_t size;
		uint32_t list, rules, resolution;

		memcpy(&need, intern_bytes(&c->needs, i, &size), sizeof(need));
		list = c->verdicts.at[need.verdicts].ports.at;
		rules = c->verdicts.at[need.verdicts].rules;
		resolution = resolution_ids[need.resolution];
		/* Each list has one need for resolution 0, so this lists each once. */
		if (!need.resolution && !table_begun(t, lists, compare_classes, .id = list))
			table_push(t, lists,
				   ((struct policy_class){ports_list_key(c, rules), list, 0}));
		if (table_begun(t, named, compare_named, list, resolution, {0}))
			continue;
		ports = tables_ports(t, ports_resolve(c, rules, need.resolution));
		table_push(t, named, ((struct policy_named){list, resolution, ports}));
	}
	table_sort(t, named, compare_named);
	table_sort(t, lists, compare_classes);
}

/* Comes last, since resolving lists may have made new intervals. */
static void put_intervals(struct tables *t)
{
	size_t n;
	const struct bh_interval *intervals = ports_intervals(t->c, &n);

	if (t->begun || !n)
		return;
	t->policy->intervals =
		grow_capacity(t->policy->intervals, &t->capacity_intervals, n, sizeof(*intervals));
	memcpy(t->policy->intervals, intervals, n * sizeof(*intervals));
	t->policy->n_intervals = n;
}

/* Puts what tells what the segments may reach. */
void reach_put(struct tables *t, const uint32_t *resolution_ids)
{
	put_domains(t);
	put_classes(t);
	put_pairs(t);
	put_named(t, resolution_ids);
	put_intervals(t);
	audits_put(t);
}
