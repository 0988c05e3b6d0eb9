// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "policy/asides.h"
#include "model/arrays.h"

static int compare(const void *a, const void *b)
{
	const struct aside *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (!order)
		order = strcmp(x->ns, y->ns);
	return order ? order : strcmp(x->name, y->name);
}

void asides_sort(struct asides *asides)
{
	if (asides)
		array_order(asides->at, asides->n, sizeof(*asides->at), compare);
}

struct aside *asides_find(const struct asides *asides, const char *kind, const char *ns,
			  const char *name)
{
	const struct aside key = {.kind = kind, .ns = (char *)ns, .name = (char *)name};

	return asides ? bsearch(&key, asides->at, asides->n, sizeof(key), compare) : NULL;
}

const char *asides_namespace(const struct aside *aside)
{
	return strcmp(aside->kind, "Namespace") ? aside->ns : aside->name;
}

bool asides_any_nameless(const struct asides *asides)
{
	for (size_t i = 0; asides && i < asides->n; i++)
		if (asides->at[i].nameless)
			return true;
	return false;
}

void asides_free(struct asides *asides)
{
	for (size_t i = 0; asides && i < asides->n; i++) {
		free(asides->at[i].ns);
		free(asides->at[i].name);
		free(asides->at[i].why);
		for (size_t k = 0; k < asides->at[i].n_left_out; k++)
			free(asides->at[i].left_out[k]);
		free(asides->at[i].left_out);
	}
	if (asides)
		free(asides->at);
	free(asides);
}
