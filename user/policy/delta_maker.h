/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes a delta: the tables in their order, the records of each table in ascending order. */
#ifndef BULKHEAD_POLICY_DELTA_MAKER_H
#define BULKHEAD_POLICY_DELTA_MAKER_H

#include "model/bytes.h"
#include "policy/delta.h"

struct delta_maker {
	struct delta_header header;
	bytes_t payload;
	enum blob_table table; /* the current table */
	struct delta_run run;
	struct delta_fresh range;
	bytes_t fresh, records;
};

/* @header has all but the directory. */
void delta_maker_open(struct delta_maker *maker, const struct delta_header *header);
void delta_maker_close(struct delta_maker *maker);

void delta_maker_table(struct delta_maker *maker, enum blob_table table, uint32_t n,
		       uint32_t n_base);
/* All runs of a table come before its fresh records. @records: of @n fresh ones from @at on. */
void delta_maker_run(struct delta_maker *maker, uint32_t to, uint32_t from, uint32_t n);
void delta_maker_new(struct delta_maker *maker, uint32_t at, uint32_t n, const void *records);
void delta_maker_table_end(struct delta_maker *maker);

/* Returns the payload, to be freed. */
void *delta_maker_finish(struct delta_maker *maker, size_t *size);

#endif
