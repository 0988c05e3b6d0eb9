// SPDX-License-Identifier: GPL-2.0-only
/* Values that several tables' records refer to: strings, CIDRs, selectors. */
#include <string.h>

#include "compile/tables.h"

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
		const uint32_t found =
			t->begun && !t->local
				? policy_find_string(policy->strings, policy->n_strings, string)
				: 0;

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
