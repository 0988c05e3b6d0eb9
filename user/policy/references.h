/* SPDX-License-Identifier: GPL-2.0-only */
/* Describes as data where the tables of a policy are in memory, and to which tables their records
 * refer. */
#ifndef BULKHEAD_POLICY_REFERENCES_H
#define BULKHEAD_POLICY_REFERENCES_H

#include "policy/blob_file.h"

struct table_layout {
	size_t at, count; /* offsets in struct policy of the table and of its count */
	size_t size; /* bytes of a record */
};

extern const struct table_layout table_layouts[BLOB_TABLES];

/* Offset and size of a field in a record of a table. */
#define FIELD_AT(table, field) offsetof(__typeof__(*((struct policy *)NULL)->table), field)
#define FIELD_SIZE(table, field) sizeof(((struct policy *)NULL)->table->field)

enum reference_kind {
	REFERS_TO_RECORD, /* uint32_t: an index */
	REFERS_TO_RANGE, /* struct policy_range */
	REFERS_TO_PORTS, /* struct bh_ports_ref, where it is a range of intervals */
};

struct reference {
	enum blob_table table, target;
	enum reference_kind kind;
	uint32_t offset; /* offset in the record */
};

/* The references of a table's records. Look them up once for all records. */
struct references {
	const struct reference *at;
	size_t n;
};

struct references references_of(enum blob_table table);

/* Returns the range that a record refers to by @reference; REFERS_TO_RECORD gives one of length 1.
 * Returns false if it refers to nothing. */
bool reference_range(const struct reference *reference, const void *record,
		     struct policy_range *range);

/* Changes each reference of a record to begin where @place says. Returns false if @place knows no
 * place (UINT32_MAX). */
typedef uint32_t reference_place(const void *data, enum blob_table target, uint32_t index);
bool references_move(const struct references *own, void *record, reference_place *place,
		     const void *data);

/* Returns true if each reference of a record is within its table of @n records. */
bool references_fit(const struct references *own, const void *record,
		    const uint32_t n[BLOB_TABLES]);

/* Returns where a table's record is; a lazy policy's may not be read yet. */
static inline const unsigned char *lazy_table_record(const struct lazy_policy *policy,
						     enum blob_table table, size_t i)
{
	const struct table_layout *layout = &table_layouts[table];

	return *(unsigned char *const *)((const char *)policy + layout->at) + i * layout->size;
}

static inline size_t lazy_table_count(const struct lazy_policy *policy, enum blob_table table)
{
	return *(const size_t *)((const char *)policy + table_layouts[table].count);
}

static inline const unsigned char *table_record(const struct policy *policy, enum blob_table table,
						size_t i)
{
	return lazy_table_record(policy_lazy(policy), table, i);
}

static inline size_t table_count(const struct policy *policy, enum blob_table table)
{
	return lazy_table_count(policy_lazy(policy), table);
}

/* Makes empty ranges begin at 0, so that they do not depend on the records before them. */
void references_build(struct policy *policy);

#endif
