/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the tables of a policy stand, and what their records refer to, as data. */
#ifndef BULKHEAD_COMPILE_REFERENCES_H
#define BULKHEAD_COMPILE_REFERENCES_H

#include "compile/blob.h"

struct table_layout {
	size_t at, count; /* offsets of the table and its count in struct policy */
	size_t size; /* of a record */
};

extern const struct table_layout table_layouts[BLOB_TABLES];

enum reference_kind {
	REFERS_TO_RECORD, /* uint32_t: an index */
	REFERS_TO_RANGE, /* struct policy_range */
	REFERS_TO_PORTS, /* struct bh_ports_ref: a range of intervals, where it is one */
};

struct reference {
	enum blob_table table, target;
	enum reference_kind kind;
	uint32_t offset; /* in the record */
};

/* Those of a table's records. */
const struct reference *references_of(enum blob_table table, size_t *n);

/* The range that a record refers to by @reference; of REFERS_TO_RECORD, one of length 1. False: it
 * refers to nothing. */
bool reference_range(const struct reference *reference, const void *record,
		     struct policy_range *range);

/* Has each reference of a record begin where @place says. False: it does not know one (UINT32_MAX).
 */
typedef uint32_t reference_place(const void *data, enum blob_table target, uint32_t index);
bool references_move(enum blob_table table, void *record, reference_place *place, const void *data);

/* Whether each reference of a record leads into its table, of as many records as @n says. */
bool references_fit(enum blob_table table, const void *record, const uint32_t n[BLOB_TABLES]);

static inline const unsigned char *table_record(const struct policy *policy, enum blob_table table,
						size_t i)
{
	const struct table_layout *layout = &table_layouts[table];

	return *(unsigned char *const *)((const char *)policy + layout->at) + i * layout->size;
}

static inline size_t table_count(const struct policy *policy, enum blob_table table)
{
	return *(const size_t *)((const char *)policy + table_layouts[table].count);
}

/* Ranges of nothing begin at 0, so that they do not tell how many records came before. */
void references_settle(struct policy *policy);

#endif
