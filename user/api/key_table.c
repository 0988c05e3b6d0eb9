// SPDX-License-Identifier: GPL-2.0-only
#include "api/key_table.h"

#include <json-c/linkhash.h>

#define SIZE_MIN 64
#define MARKS 8 /* at most one place in so many has the mark of a deleted entry */

/* Returns a table of the same entries, in the same order; NULL: no memory. */
static struct lh_table *copy_of(const struct lh_table *table)
{
	const int size = SIZE_MIN + 2 * table->count;
	struct lh_table *copy = lh_table_new(size, NULL, table->hash_fn, table->equal_fn);
	const struct lh_entry *entry = copy ? table->head : NULL;

	for (; entry; entry = entry->next)
		if (lh_table_insert(copy, lh_entry_k(entry), lh_entry_v(entry))) {
			lh_table_free(copy);
			return NULL;
		}
	return copy;
}

void api_table_deleted(struct lh_table **table, unsigned int *deleted)
{
	struct lh_table *old = *table, *copy;

	if (++*deleted < (unsigned int)old->size / MARKS)
		return;
	*deleted = 0;
	copy = copy_of(old);
	if (!copy)
		return;
	copy->free_fn = old->free_fn;
	/* the keys and values are the copy's now */
	old->free_fn = NULL;
	lh_table_free(old);
	*table = copy;
}
