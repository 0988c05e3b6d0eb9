// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/change/names.h"

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	free(names->at);
}

int names_add(struct names *names, const struct lazy_policy *policy, uint32_t index)
{
	const struct policy_given *given = lazy_read(policy, &policy->given[index], sizeof(*given));
	const char *ns = lazy_read_string(policy, given->ns);
	const char *name = lazy_read_string(policy, given->name);

	if (lazy_error(policy))
		return lazy_error(policy);
	if (names->n == names->room) {
		const size_t room = names->room ? 2 * names->room : 64;
		char **grown = reallocarray(names->at, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->at = grown;
		names->room = room;
	}
	if (asprintf(&names->at[names->n], "%c%s%s%s", '0' + given->kind, ns, *ns ? "/" : "",
		     name) < 0)
		return -ENOMEM;
	names->n++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void names_sort(struct names *names)
{
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), compare);
}

int names_without(const struct names *names, const struct names *others, char ***list, size_t *n)
{
	*list = calloc(names->n + 1, sizeof(**list));
	for (size_t i = 0; *list && i < names->n; i++) {
		if (others->n &&
		    bsearch(&names->at[i], others->at, others->n, sizeof(*others->at), compare))
			continue;
		(*list)[*n] = strdup(names->at[i] + 1);
		if (!(*list)[*n])
			return -ENOMEM;
		++*n;
	}
	return *list ? 0 : -ENOMEM;
}
