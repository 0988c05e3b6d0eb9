// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/plan/object_names.h"

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	free(names->at);
}

void object_names_free(struct object_names *names)
{
	names_free(&names->all);
	names_free(&names->enforced);
}

static int add(struct names *names, const char *ns, const char *name, uint8_t kind)
{
	if (names->n == names->capacity) {
		const size_t capacity = names->capacity ? 2 * names->capacity : 64;
		char **grown = reallocarray(names->at, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->at = grown;
		names->capacity = capacity;
	}
	if (asprintf(&names->at[names->n], "%c%s%s%s", '0' + kind, ns, *ns ? "/" : "", name) < 0)
		return -ENOMEM;
	names->n++;
	return 0;
}

int object_names_add(struct object_names *names, const struct lazy_policy *policy, uint32_t index)
{
	const struct policy_given *given = LAZY_ONE(policy, given, index);
	const char *ns = lazy_read_string(policy, given->ns);
	const char *name = lazy_read_string(policy, given->name);
	int error = lazy_error(policy);

	if (!error)
		error = add(&names->all, ns, name, given->kind);
	if (error || given->flags & POLICY_AUDIT)
		return error;
	return add(&names->enforced, ns, name, given->kind);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct names *names)
{
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), compare);
}

void object_names_sort(struct object_names *names)
{
	sort(&names->all);
	sort(&names->enforced);
}

static bool has(const struct names *names, char *const *name)
{
	return names->n && bsearch(name, names->at, names->n, sizeof(*names->at), compare);
}

/* Lists the names that @others lacks and, unless it is NULL, @also has, without their kinds. */
static int list_names(const struct names *names, const struct names *others,
		      const struct names *also, char ***list, size_t *n)
{
	*list = calloc(names->n + 1, sizeof(**list));
	for (size_t i = 0; *list && i < names->n; i++) {
		if (has(others, &names->at[i]) || (also && !has(also, &names->at[i])))
			continue;
		(*list)[*n] = strdup(names->at[i] + 1);
		if (!(*list)[*n])
			return -ENOMEM;
		++*n;
	}
	return *list ? 0 : -ENOMEM;
}

int object_names_compare(const struct object_names *before, const struct object_names *after,
			 struct node_effect *effect)
{
	int error =
		list_names(&before->all, &after->all, NULL, &effect->deleted, &effect->n_deleted);

	if (!error)
		error = list_names(&after->all, &before->all, NULL, &effect->added,
				   &effect->n_added);
	return error ? error
		     : list_names(&before->enforced, &after->enforced, &after->all, &effect->audits,
				  &effect->n_audits);
}
