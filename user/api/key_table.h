/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables whose keys come and go without end. json-c marks the place of a deleted entry, and a
 * search for a key that is not there goes on behind it: once ten times as many keys have come and
 * gone as the table has, no place is empty, and each such search looks at all places. */
#ifndef BULKHEAD_API_KEY_TABLE_H
#define BULKHEAD_API_KEY_TABLE_H

struct lh_table;

/* Call after a deletion. @deleted: their number, which begins at 0. Makes the table anew before the
 * marks are many: pointers to its entries end, those to keys and values stay. */
void api_table_deleted(struct lh_table **table, unsigned int *deleted);

#endif
