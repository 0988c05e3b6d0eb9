// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "model/cluster.h"

const char *labels_get(const struct labels *labels, const char *key)
{
	size_t low = 0, high = labels->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(key, labels->at[middle].key);

		if (!order)
			return labels->at[middle].value;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool has_value(const struct requirement *requirement, const char *value)
{
	size_t low = 0, high = requirement->n_values;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(value, requirement->values[middle]);

		if (!order)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static bool requirement_holds(const struct requirement *requirement, const struct labels *labels)
{
	const char *value = labels_get(labels, requirement->key);

	switch (requirement->op) {
	case SELECTOR_IN:
		return value && has_value(requirement, value);
	case SELECTOR_NOT_IN:
		return !value || !has_value(requirement, value);
	case SELECTOR_EXISTS:
		return value;
	case SELECTOR_DOES_NOT_EXIST:
		return !value;
	}
	return false;
}

bool selector_matches(const struct selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->n; i++)
		if (!requirement_holds(&selector->at[i], labels))
			return false;
	return true;
}

static int label_order(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

void labels_sort(struct labels *labels)
{
	if (labels->n)
		qsort(labels->at, labels->n, sizeof(*labels->at), label_order);
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool texts_have(const char *const *texts, const char *text)
{
	for (; *texts; texts++)
		if (!strcmp(text, *texts))
			return true;
	return false;
}

size_t texts_sort(const char **texts, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(texts, n, sizeof(*texts), text_order);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(texts[kept - 1], texts[i]))
			texts[kept++] = texts[i];
	return kept;
}

static int requirement_order(const void *a, const void *b)
{
	const struct requirement *left = a, *right = b;
	int order = strcmp(left->key, right->key);

	if (order)
		return order;
	if (left->op != right->op)
		return left->op < right->op ? -1 : 1;
	for (size_t i = 0; i < left->n_values && i < right->n_values; i++) {
		order = strcmp(left->values[i], right->values[i]);
		if (order)
			return order;
	}
	return left->n_values < right->n_values ? -1 : left->n_values > right->n_values;
}

void selector_sort(struct selector *selector)
{
	size_t kept = 0;

	if (!selector->n)
		return;
	for (size_t i = 0; i < selector->n; i++) {
		struct requirement *requirement = &selector->at[i];

		requirement->n_values = texts_sort(requirement->values, requirement->n_values);
	}
	qsort(selector->at, selector->n, sizeof(*selector->at), requirement_order);
	for (size_t i = 0; i < selector->n; i++)
		if (!kept || requirement_order(&selector->at[kept - 1], &selector->at[i]))
			selector->at[kept++] = selector->at[i];
	selector->n = kept;
}
