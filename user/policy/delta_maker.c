// SPDX-License-Identifier: GPL-2.0-only
#include "policy/delta_maker.h"
#include "policy/references.h"

void delta_maker_open(struct delta_maker *maker, const struct delta_header *header)
{
	*maker = (struct delta_maker){.header = *header};
	bytes_put(&maker->payload, header, sizeof(*header));
}

void delta_maker_close(struct delta_maker *maker)
{
	array_free(&maker->payload);
	array_free(&maker->fresh);
	array_free(&maker->records);
}

void delta_maker_table(struct delta_maker *maker, enum blob_table table, uint32_t n,
		       uint32_t n_base)
{
	maker->table = table;
	maker->header.tables[table] =
		(struct delta_directory){.at = maker->payload.n, .n = n, .n_base = n_base};
	maker->run = (struct delta_run){0};
	maker->range = (struct delta_fresh){0};
	maker->fresh.n = maker->records.n = 0;
}

static void put_run(struct delta_maker *maker)
{
	if (!maker->run.n)
		return;
	bytes_put(&maker->payload, &maker->run, sizeof(maker->run));
	maker->header.tables[maker->table].n_runs++;
	maker->run.n = 0;
}

void delta_maker_run(struct delta_maker *maker, uint32_t to, uint32_t from, uint32_t n)
{
	struct delta_run *run = &maker->run;

	if (run->n && run->to + run->n == to && run->from + run->n == from) {
		run->n += n;
		return;
	}
	put_run(maker);
	*run = (struct delta_run){to, from, n};
}

static void put_range(struct delta_maker *maker)
{
	struct delta_directory *directory = &maker->header.tables[maker->table];

	if (!maker->range.n)
		return;
	bytes_put(&maker->fresh, &maker->range, sizeof(maker->range));
	directory->n_fresh++;
	directory->n_records += maker->range.n;
	maker->range = (struct delta_fresh){.before = directory->n_records};
}

void delta_maker_new(struct delta_maker *maker, uint32_t at, uint32_t n, const void *records)
{
	if (maker->range.n && maker->range.at + maker->range.n != at)
		put_range(maker);
	if (!maker->range.n)
		maker->range.at = at;
	maker->range.n += n;
	bytes_put(&maker->records, records, n * table_layouts[maker->table].size);
}

void delta_maker_table_end(struct delta_maker *maker)
{
	static const char zeros[8];

	put_run(maker);
	put_range(maker);
	bytes_put(&maker->payload, maker->fresh.at, maker->fresh.n);
	bytes_put(&maker->payload, maker->records.at, maker->records.n);
	bytes_put(&maker->payload, zeros, -maker->payload.n & 7);
}

void *delta_maker_finish(struct delta_maker *maker, size_t *size)
{
	void *payload = maker->payload.at;

	memcpy(payload, &maker->header, sizeof(maker->header));
	*size = maker->payload.n;
	maker->payload.at = NULL;
	maker->payload.n = maker->payload.capacity = 0;
	return payload;
}
