/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A delta: the difference of one compiled policy from another, its base. The base and the delta
 * give the whole policy, byte for byte.
 *
 * For each table the delta has runs, which are consecutive records that the base has as well,
 * and fresh records, which it holds. Records that a run's records refer to (references.h) may
 * have another place in their table now: references follow the runs of that table. A fresh
 * record replaces one of a run at the same place.
 *
 * The file is struct delta_file, then a zstd frame of struct delta_header and, for each table,
 * its runs, its fresh ranges and their records, each from a multiple of 8 on.
 */
#ifndef BULKHEAD_POLICY_DELTA_H
#define BULKHEAD_POLICY_DELTA_H

#include "policy/blob_file.h"

#define DELTA_MAGIC "bh-delta"
#define DELTA_VERSION 1

struct delta_file {
	char magic[8];
	uint32_t version, abi; /* DELTA_VERSION, BH_ABI */
	uint64_t checksum; /* XXH3 of all that follows */
	uint64_t length; /* bytes of the uncompressed frame */
};

/* Records from @from to before @from + @n of the base are records from @to to before @to + @n. */
struct delta_run {
	uint32_t to, from, n;
};

/* Records from @at to before @at + @n are fresh. @before fresh records precede them. */
struct delta_fresh {
	uint32_t at, n, before;
};

struct delta_directory {
	/* offset of the runs in the payload; the fresh ranges and the records follow */
	uint64_t at;
	uint32_t n, n_base; /* numbers of records in the whole table, and in the base's */
	uint32_t n_runs, n_fresh, n_records;
	uint32_t pad;
};

struct delta_header {
	/* checksums of both policies; of a delta in memory, @checksum may be 0: unknown */
	uint64_t base, checksum;
	uint32_t base_generation;
	uint32_t blob_version;
	uint64_t lineage, parent; /* these and the next as in struct policy */
	uint32_t generation, uplinks_n, node;
	uint32_t next_segment, next_class, next_rule, next_resolution, next_list;
	struct delta_directory tables[BLOB_TABLES];
};

struct delta_table {
	uint32_t n, n_base;
	const struct delta_run *runs; /* ascending by `to` */
	uint32_t n_runs;
	const struct delta_fresh *fresh; /* ascending by `at` */
	uint32_t n_fresh;
	const unsigned char *records; /* the fresh records */
	struct delta_run *by_from; /* the runs, ascending by `from` */
};

struct delta {
	struct delta_header header;
	struct delta_table tables[BLOB_TABLES];
	uint32_t n[BLOB_TABLES]; /* numbers of records in the whole policy */
	void *payload; /* holds the tables */
	size_t size;
};

/* Returns true if @bytes begin like a delta. */
bool delta_is(const void *bytes, size_t size);

/* Makes the delta from @base to @policy, to be freed. Both have their checksums. Returns 0;
 * -ENOMEM; or -EILSEQ: the delta does not give @policy, which is a defect of Bulkhead. */
int delta_make(const struct policy *base, const struct policy *policy, struct delta **delta);

/* Writes the delta as a file's bytes, to be freed. Returns 0 or -ENOMEM. */
int delta_write(const struct delta *delta, void **bytes, size_t *size);

/* Reads a delta. Checks lengths, checksum, order, and that fresh records refer to existing ones;
 * delta_apply() checks the rest. Returns 0 and a delta to free; -EINVAL with the reason in
 * @diag; or -ENOMEM. */
int delta_read(const void *bytes, size_t size, const struct where *where, struct diag *diag,
	       struct delta **delta);
/* As delta_read(), for the uncompressed frame. Takes over @payload (malloc'ed), on failure as
 * well. */
int delta_open(void *payload, size_t size, const struct where *where, struct diag *diag,
	       struct delta **delta);
void delta_free(struct delta *delta);

/* Refuses a base that is not the delta's, with the reason in @diag; NULL: there is no policy. @what
 * names the base in messages ("active", a file), or says why there is none. */
int delta_check_base(const struct delta *delta, const struct lazy_policy *base, const char *what,
		     const struct where *where, struct diag *diag);

/*
 * Makes the whole policy, and checks it as blob_read() does. @base as in delta_check_base(),
 * without a source. Returns 0; -EINVAL with the reason in @diag; or -ENOMEM.
 */
int delta_apply(const struct delta *delta, const struct lazy_policy *base, const char *what,
		const struct where *where, struct diag *diag, struct policy **policy);

/* Joins two deltas, the second on top of the first, as a payload to be freed. Returns 0 or
 * -ENOMEM. */
int delta_compose(const struct delta *first, const struct delta *second, void **payload,
		  size_t *size);

/* delta_blob_header() returns the whole policy's header. delta_records() writes @n records of a
 * table from @from on, read from @base if needed. It returns 0, or -EINVAL if a record refers to
 * one that does not exist. */
struct blob_header delta_blob_header(const struct delta *delta);
int delta_records(const struct delta *delta, const struct lazy_policy *base, enum blob_table table,
		  uint32_t from, uint32_t n, void *records);

/* Bytes of the longest record of a policy. */
#define DELTA_RECORD_MAX 128

/* Of two places in a table. */
static inline uint32_t later_place(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t sooner_place(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Return the first run, or fresh range, that ends behind a record. */
uint32_t delta_first_run(const struct delta_table *table, uint32_t record);
uint32_t delta_first_new(const struct delta_table *table, uint32_t record);
bool delta_is_new(const struct delta_table *table, uint32_t record);

/*
 * For loops over what changes in a table. delta_next_new() returns the first fresh record from
 * @record on, or the number of records; delta_next_deleted() the first record of the base, from
 * @record of the base on, that is in no run, or the number of the base's records.
 */
uint32_t delta_next_new(const struct delta_table *table, uint32_t record);
uint32_t delta_next_deleted(const struct delta_table *table, uint32_t record);

/* Returns true if the delta leaves a table as it was, but for the places that its records refer
 * to. */
bool delta_is_final(const struct delta_table *table);
/* Returns true if all records of the base are where they were; fresh ones may replace them. */
bool delta_keeps_places(const struct delta_table *table);
/* Returns true if no record of the base changes; records come and go. */
bool delta_keeps_records(const struct delta_table *table);

/*
 * Returns true if both policies have the same segments, and each may do the same: only endpoints,
 * and what is known of them, differ. So whoever has the segments of the base has those of the other
 * policy. May return false if that holds as well.
 */
bool delta_keeps_segments(const struct delta *delta);

/* Returns the record of the base that is at this place now, which a fresh one may replace;
 * UINT32_MAX: none. */
uint32_t delta_origin(const struct delta_table *table, uint32_t record);

/* Returns the place in the whole policy of a record of the base; UINT32_MAX: it has none. @data:
 * a delta. */
uint32_t delta_place(const void *data, enum blob_table target, uint32_t index);

#endif
