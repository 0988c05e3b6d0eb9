/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A delta: what one compiled policy has that another, its base, does not. Where
 * the base is known, the whole comes out byte for byte.
 *
 * Of each table the delta has runs, records that the base has next to each
 * other, too, and fresh records, which stand in it. What a run's records refer
 * to (delta_fields) may stand elsewhere in its table now: references follow the
 * runs of that table. A record that is fresh counts even inside a run.
 *
 * The file: struct delta_file, then a zstd frame of struct delta_header and, for
 * each table at the next multiples of 8, its runs, its fresh ranges and their
 * records.
 */
#ifndef BULKHEAD_COMPILE_DELTA_H
#define BULKHEAD_COMPILE_DELTA_H

#include "compile/blob.h"

#define DELTA_MAGIC "bh-delta"
#define DELTA_VERSION 1

struct delta_file {
	char magic[8];
	uint32_t version, abi; /* DELTA_VERSION, BH_ABI */
	uint64_t checksum; /* XXH3 of all that follows */
	uint64_t length; /* bytes that the frame comes to */
};

/* Records @from to @from + @n of the base are records @to to @to + @n. */
struct delta_run {
	uint32_t to, from, n;
};

/* Records @at to @at + @n are fresh, and stand behind @before other fresh ones. */
struct delta_fresh {
	uint32_t at, n, before;
};

struct delta_directory {
	uint64_t at; /* of the runs, in what is compressed; then the fresh ranges, the records */
	uint32_t n, n_base; /* records of the whole table, and of the base's */
	uint32_t n_runs, n_fresh, n_records;
	uint32_t pad;
};

struct delta_header {
	uint64_t base, checksum; /* of both policies */
	uint32_t base_generation;
	uint32_t blob_version;
	uint64_t lineage, parent; /* these and the next as struct policy has them */
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
	const unsigned char *records; /* the fresh ones */
	struct delta_run *by_from; /* the runs, ascending by `from` */
};

struct delta {
	struct delta_header header;
	struct delta_table tables[BLOB_TABLES];
	uint32_t n[BLOB_TABLES]; /* records of the whole */
	void *payload; /* what the tables stand in */
	size_t size;
};

/* Whether @bytes begin as a delta does. */
bool delta_is(const void *bytes, size_t size);

/* The checksum that a file of these bytes should carry; @size is at least a delta_file's. */
uint64_t delta_checksum(const void *bytes, size_t size);

/* What leads from @base to @policy, both with their checksums, to be freed. Returns 0; -ENOMEM; or
 * -EILSEQ: it does not, which is a fault of this program. */
int delta_make(const struct policy *base, const struct policy *policy, struct delta **delta);

/* As a file's bytes, to be freed. Returns 0 or -ENOMEM. */
int delta_write(const struct delta *delta, void **bytes, size_t *size);

/* Checks lengths, checksum, order, and that fresh records refer to what is there; what else they
 * say is checked with the whole policy. Returns 0 and a delta to free; -EINVAL with the reason in
 * @diag; or -ENOMEM. */
int delta_read(const void *bytes, size_t size, const struct where *where, struct diag *diag,
	       struct delta **delta);
/* The same of what such a file's frame comes to. Takes @payload (malloc'ed) over, on failure, too.
 */
int delta_open(void *payload, size_t size, const struct where *where, struct diag *diag,
	       struct delta **delta);
void delta_free(struct delta *delta);

/* Refuses, with the reason in @diag, another base than what the delta is a change of; NULL: there
 * is none. @what names the base for the user ("in force", a file), or says why there is none. */
int delta_check_base(const struct delta *delta, const struct policy *base, const char *what,
		     const struct where *where, struct diag *diag);

/*
 * The whole policy, read and checked as blob_read() does. @base: as delta_check_base() has it, with
 * all of it there. Returns 0; -EINVAL with the reason in @diag; or -ENOMEM.
 */
int delta_apply(const struct delta *delta, const struct policy *base, const char *what,
		const struct where *where, struct diag *diag, struct policy **policy);

/* What is done by a delta and then by another on top of it, as a payload, to be freed. Returns 0 or
 * -ENOMEM. */
int delta_compose(const struct delta *first, const struct delta *second, void **payload,
		  size_t *size);

/* The whole's header, and records @from to @from + @n of a table, read from @base if need be.
 * Return 0, or -EINVAL: a record refers to what is not there. */
struct blob_header delta_blob_header(const struct delta *delta);
int delta_records(const struct delta *delta, const struct policy *base, enum blob_table table,
		  uint32_t from, uint32_t n, void *records);

/* No record of a policy is longer, in bytes. */
#define DELTA_RECORD_MAX 128

/* The first run, or fresh range, that ends behind a record. */
uint32_t delta_first_run(const struct delta_table *table, uint32_t record);
uint32_t delta_first_fresh(const struct delta_table *table, uint32_t record);
bool delta_is_fresh(const struct delta_table *table, uint32_t record);

/* Where a record of the base stands in the whole; UINT32_MAX: nowhere. @data: a delta. */
uint32_t delta_place(const void *data, enum blob_table target, uint32_t index);

#endif
