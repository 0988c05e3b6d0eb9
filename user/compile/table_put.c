// SPDX-License-Identifier: GPL-2.0-only
/* Values that several tables' records refer to: strings, CIDRs, selectors. */
#include <string.h>

#include "compile/tables.h"

/* After so many searches through all strings, these are sorted by hash: to do so takes as long as
 * some more searches. */
#define SEARCHES 8

static void index_strings(struct tables *t)
{
	const struct policy *policy = t->policy;

	for (size_t i = 0; i < policy->n_strings; i += strlen(policy->strings + i) + 1) {
		const char *string = policy->strings + i;
		bool fresh;

		intern_add(&t->known, string, strlen(string) + 1, &fresh);
		if (fresh)
			array_push(&t->known_at, i);
	}
}

/* Returns the offset of a string that the policy has; 0: it has not. */
static uint32_t find_string(struct tables *t, const char *string, size_t size)
{
	uint32_t number;

	if (++t->sought <= SEARCHES)
		return policy_find_string(t->policy->strings, t->policy->n_strings, string);
	if (!t->known_at.n)
		index_strings(t);
	number = intern_find(&t->known, string, size);
	return number == INTERN_NONE ? 0 : t->known_at.at[number];
}

uint32_t tables_string(struct tables *t, const char *string)
{
	size_t size = string ? strlen(string) + 1 : 1;
	uint32_t number;
	bool fresh;

	if (size == 1)
		return 0;
	number = intern_add(&t->strings, string, size, &fresh);
	if (fresh) {
		struct policy *policy = t->policy;
		const uint32_t found = t->begun && !t->local ? find_string(t, string, size) : 0;

		array_push(&t->string_at, found ? found : policy->n_strings);
		if (found)
			return found;
		policy->strings = grow_capacity(policy->strings, &t->capacity_strings,
						policy->n_strings + size, 1);
		memcpy(policy->strings + policy->n_strings, string, size);
		policy->n_strings += size;
	}
	return t->string_at.at[number];
}

struct policy_range tables_cidrs(struct tables *t, const struct cidr *cidrs, size_t n)
{
	struct policy_range range = {t->policy->n_cidrs, n};

	for (size_t i = 0; i < n; i++)
		table_push(t, cidrs, ((struct policy_cidr){cidrs[i].address, cidrs[i].length}));
	return range;
}

struct policy_range tables_selector(struct tables *t, const struct selector *selector)
{
	struct policy_range range = {t->policy->n_requirements, selector->n};

	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *from = &selector->at[i];
		struct policy_requirement record = {.key = tables_string(t, from->key),
						    .op = from->op,
						    .values = {t->policy->n_texts, from->n_values}};

		table_push(t, requirements, record);
		for (size_t j = 0; j < from->n_values; j++)
			table_push(t, texts, tables_string(t, from->values[j]));
	}
	return range;
}
