/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files that fill the tables of a new policy. */
#ifndef BULKHEAD_COMPILE_TABLES_H
#define BULKHEAD_COMPILE_TABLES_H

#include "compile/compiler.h"

#define TABLE_CAPACITY(type, name, moves) size_t capacity_##name;

struct tables {
	struct compiler *c;
	struct policy *policy;
	struct intern strings;
	numbers_t string_at; /* offset in `strings`, by number of the string */
	uint32_t *segment_index; /* index of the segment's record, by the compiler's number */
	uint32_t *segment_id;
	const struct policy_segment **old; /* record of the base, by the compiler's number */
	bool continues; /* the tables began as the base's: they may have a string already */
	POLICY_TABLES(TABLE_CAPACITY)
};

/* Appends an unset record to a table and returns it. */
#define table_add(tables, name)                                                                  \
	((tables)->policy->name =                                                                \
		 grow_capacity((tables)->policy->name, &(tables)->capacity_##name,               \
			       (tables)->policy->n_##name + 1, sizeof(*(tables)->policy->name)), \
	 &(tables)->policy->name[(tables)->policy->n_##name++])

#define table_push(tables, name, value) ((void)(*table_add(tables, name) = (value)))

#define table_sort(tables, name, compare)                                \
	sort_records((tables)->policy->name, (tables)->policy->n_##name, \
		     sizeof(*(tables)->policy->name), compare)

/* Returns the offset of @string (NULL: the empty string) in `strings`. */
uint32_t tables_string(struct tables *t, const char *string);

/* Append the CIDRs, or the selector's requirements. */
struct policy_range tables_cidrs(struct tables *t, const struct cidr *cidrs, size_t n);
struct policy_range tables_selector(struct tables *t, const struct selector *selector);

/* Returns the record of a segment, without variations. */
struct policy_segment tables_segment(struct tables *t, const struct segment *segment, uint32_t id,
				     uint32_t create_generation);
/* Fills the record's variations. Their IDs count in each segment: @old, the base's record (NULL:
 * none), has those that were given before. @ids: the IDs of resolutions, by number. */
void tables_variations(struct tables *t, const struct segment *segment, const uint32_t *ids,
		       const struct policy_segment *old, struct policy_segment *record);
struct policy_key tables_resolution_key(const struct compiler *c, uint32_t number);
/* Sorts the tables that stand in the order of IDs. */
void tables_order(struct tables *t);
/* Fills by_matchers, after `segments`. */
/* Sorts the policy's domains. */
void tables_sort_domains(struct policy *policy);
void tables_by_matchers(struct tables *t);

/* audit.c: appends the audit records that are not in @base (NULL: all), and sorts the table. */
void audits_put(struct tables *t, const struct policy *base);

/* given_put.c: fills the tables of the policies as they were given. */
void given_put(struct tables *t);

/* services.c: fills the Services' tables, after `addresses`, `endpoints` and `nodes`. */
void services_put(struct tables *t);

#endif
