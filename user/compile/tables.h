/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of a policy in the making: what the files that fill them share. */
#ifndef BULKHEAD_COMPILE_TABLES_H
#define BULKHEAD_COMPILE_TABLES_H

#include "compile/compiler.h"

#define TABLE_ROOM(type, name) size_t room_##name;

struct tables {
	struct compiler *c;
	struct policy *policy;
	struct intern strings;
	numbers_t string_at; /* by number in strings */
	uint32_t *segment_index; /* by compiler's number */
	uint32_t *segment_id;
	const struct policy_segment **old; /* by compiler's number: the base's record */
	POLICY_TABLES(TABLE_ROOM)
};

/* The new last record of a table, unset. */
#define table_add(tables, name)                                                              \
	((tables)->policy->name =                                                            \
		 grow_room((tables)->policy->name, &(tables)->room_##name,                   \
			   (tables)->policy->n_##name + 1, sizeof(*(tables)->policy->name)), \
	 &(tables)->policy->name[(tables)->policy->n_##name++])

#define table_push(tables, name, value) ((void)(*table_add(tables, name) = (value)))

#define table_sort(tables, name, compare)                                \
	sort_records((tables)->policy->name, (tables)->policy->n_##name, \
		     sizeof(*(tables)->policy->name), compare)

/* Where @string (NULL: the empty one) stands in `strings`. */
uint32_t tables_string(struct tables *t, const char *string);

/* services.c: fills the tables of the Services. After `addresses`, `endpoints` and `nodes`. */
void services_put(struct tables *t);

#endif
