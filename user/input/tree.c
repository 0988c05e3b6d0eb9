// SPDX-License-Identifier: GPL-2.0-only
#include "input/tree.h"
#include "model/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree *tree_new(struct obstack *memory, enum tree_type type, uint32_t line)
{
	struct tree *node = obstack_alloc(memory, sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->type = type;
	node->line = line;
	return node;
}

void tree_append(struct tree *parent, struct tree *child)
{
	child->parent = parent;
	child->index = parent->n++;
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
}

static bool is_null(const struct tree *node)
{
	return node->type == TREE_SCALAR && node->scalar == SCALAR_NULL;
}

struct tree *tree_get(const struct tree *map, const char *key)
{
	if (!map || map->type != TREE_MAP)
		return NULL;
	for (struct tree *node = map->first; node; node = node->next)
		if (!strcmp(node->key, key))
			return is_null(node) ? NULL : node;
	return NULL;
}

struct tree *tree_get_filled(const struct tree *map, const char *key)
{
	return tree_says(map, key, "") ? NULL : tree_get(map, key);
}

bool tree_says(const struct tree *map, const char *key, const char *text)
{
	const struct tree *node = tree_get(map, key);

	return node && node->type == TREE_SCALAR && !strcmp(node->text, text);
}

static int key_order(const void *a, const void *b)
{
	const struct tree *left = *(struct tree *const *)a, *right = *(struct tree *const *)b;
	int order = strcmp(left->key, right->key);

	return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

static const struct tree *duplicate_among_few(const struct tree *map)
{
	for (const struct tree *node = map->first; node; node = node->next)
		for (const struct tree *other = map->first; other != node; other = other->next)
			if (!strcmp(other->key, node->key))
				return node;
	return NULL;
}

static const struct tree *duplicate_among_many(const struct tree *map)
{
	const struct tree **sorted = malloc(map->n * sizeof(*sorted)), *found = NULL;
	size_t n = 0;

	if (!sorted)
		memory_exhausted();
	for (const struct tree *node = map->first; node; node = node->next)
		sorted[n++] = node;
	qsort(sorted, n, sizeof(*sorted), key_order);
	for (size_t i = 1; i < n && !found; i++)
		if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
			found = sorted[i];
	free(sorted);
	return found;
}

const struct tree *tree_duplicate(const struct tree *map)
{
	return map->n <= 16 ? duplicate_among_few(map) : duplicate_among_many(map);
}

static int refuse_duplicate(struct tree_maker *maker, const struct tree *twice)
{
	struct where where = {maker->file, twice->line};
	char *path = tree_path(twice);

	diag_error(maker->diag, &where, path, "the key is given twice");
	free(path);
	return -EINVAL;
}

int tree_check_keys(struct tree_maker *maker, const struct tree *root)
{
	const struct tree *twice;
	int err = 0;

	if (root->type == TREE_SCALAR || root->type == TREE_UNREAD)
		return 0;
	for (const struct tree *node = root->first; node && !err; node = node->next)
		err = tree_check_keys(maker, node);
	twice = !err && root->type == TREE_MAP ? tree_duplicate(root) : NULL;
	return twice ? refuse_duplicate(maker, twice) : err;
}

static void print_path(FILE *to, const struct tree *node)
{
	if (!node->parent)
		return;
	print_path(to, node->parent);
	if (!node->key)
		fprintf(to, "[%u]", node->index);
	else if (strpbrk(node->key, "./[] "))
		fprintf(to, "[%.100s]", node->key);
	else
		fprintf(to, "%s%.100s", node->parent->parent ? "." : "", node->key);
}

char *tree_path(const struct tree *node)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		memory_exhausted();
	print_path(to, node);
	fclose(to);
	return text;
}
