// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carries a node's extension of a policy over to the policy's successor. Each table is either left
 * alone by the delta to the successor, or only grows at its end by what the node adds.
 */
#include "policy/delta_rebase.h"

#include <errno.h>
#include <string.h>

#include "policy/delta_maker.h"
#include "policy/references.h"

struct rebaser {
	const struct delta *local, *change;
	struct delta_maker maker;
	bool fits;
	void *payload;
	size_t size;
};

/* Returns the place in the extended successor of a record of the extended policy. @data: a
 * rebaser. */
static uint32_t place(const void *data, enum blob_table number, uint32_t index)
{
	const struct rebaser *r = data;
	const struct delta_table *local = &r->local->tables[number];
	const struct delta_table *change = &r->change->tables[number];

	if (delta_is_final(change))
		return index;
	return index < local->n_base ? delta_place(r->change, number, index)
				     : index - local->n_base + change->n;
}

static void put_runs(struct rebaser *r, enum blob_table number)
{
	const struct delta_table *local = &r->local->tables[number];
	const struct delta_table *change = &r->change->tables[number];

	if (delta_is_final(change))
		for (uint32_t i = 0; i < local->n_runs; i++)
			delta_maker_run(&r->maker, local->runs[i].to, local->runs[i].from,
					local->runs[i].n);
	else if (change->n)
		delta_maker_run(&r->maker, 0, 0, change->n);
}

/* A record in the place of the policy's must find the policy's unchanged in the successor. */
static bool has_place(const struct rebaser *r, enum blob_table number, uint32_t from, uint32_t to)
{
	const struct delta_table *change = &r->change->tables[number];

	return to != UINT32_MAX &&
	       (delta_is_final(change) || from >= r->local->tables[number].n_base ||
		!delta_is_new(change, to));
}

static void put_record(struct rebaser *r, enum blob_table number, uint32_t from,
		       const unsigned char *record)
{
	const struct references own = references_of(number);
	unsigned char copy[DELTA_RECORD_MAX] __attribute__((aligned(8)));
	struct policy_segment *segment = (struct policy_segment *)copy;
	const uint32_t to = place(r, number, from);

	memcpy(copy, record, table_layouts[number].size);
	r->fits =
		r->fits && has_place(r, number, from, to) && references_move(&own, copy, place, r);
	if (number == BLOB_TABLE_segments && from >= r->local->tables[number].n_base)
		segment->create_generation = r->change->header.generation;
	delta_maker_new(&r->maker, to, 1, copy);
}

static void put_new(struct rebaser *r, enum blob_table number)
{
	const struct delta_table *local = &r->local->tables[number];
	const size_t size = table_layouts[number].size;

	for (uint32_t i = 0; i < local->n_fresh; i++)
		for (uint32_t k = 0; k < local->fresh[i].n; k++)
			put_record(r, number, local->fresh[i].at + k,
				   local->records + (local->fresh[i].before + k) * size);
}

static void put_table(struct rebaser *r, enum blob_table number)
{
	const struct delta_table *local = &r->local->tables[number];
	const struct delta_table *change = &r->change->tables[number];

	r->fits = r->fits && (delta_is_final(change) || delta_keeps_places(local));
	delta_maker_table(&r->maker, number, local->n - local->n_base + change->n, change->n);
	put_runs(r, number);
	put_new(r, number);
	delta_maker_table_end(&r->maker);
}

static int rebase(void *data)
{
	struct rebaser *r = data;
	struct delta_header header = r->local->header;
	const struct delta_header *to = &r->change->header;

	header.base = to->checksum;
	header.base_generation = header.generation = to->generation;
	header.parent = to->parent;
	header.node = to->node;
	header.uplinks_n = to->uplinks_n;
	header.checksum = 0;
	delta_maker_open(&r->maker, &header);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		put_table(r, table);
	r->payload = delta_maker_finish(&r->maker, &r->size);
	return 0;
}

int delta_rebase(const struct delta *local, const struct delta *change, struct delta **rebased)
{
	struct rebaser r = {.local = local, .change = change, .fits = true};
	struct diag silent = {0};
	int error = memory_guarded(rebase, &r);

	delta_maker_close(&r.maker);
	if (!error && !r.fits) {
		free(r.payload);
		return -EOPNOTSUPP;
	}
	if (!error)
		error = delta_open(r.payload, r.size, NULL, &silent, rebased);
	return error == -EINVAL ? -EOPNOTSUPP : error;
}
