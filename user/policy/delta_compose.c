// SPDX-License-Identifier: GPL-2.0-only
/* Joins two deltas, one on top of the other. Records that only the policy in between has are
 * left out. */
#include "policy/delta_maker.h"
#include "policy/references.h"

struct composer {
	const struct delta *first, *second;
	struct delta_maker maker;
	void *payload;
	size_t size;
};

/* Makes runs of the records that both deltas keep. */
static void compose_runs(struct composer *c, enum blob_table number)
{
	const struct delta_table *first = &c->first->tables[number];
	const struct delta_table *second = &c->second->tables[number];

	for (uint32_t i = 0; i < second->n_runs; i++) {
		const struct delta_run *run = &second->runs[i];
		const uint32_t end = run->from + run->n;

		for (uint32_t k = delta_first_run(first, run->from);
		     k < first->n_runs && first->runs[k].to < end; k++) {
			const struct delta_run *under = &first->runs[k];
			const uint32_t from = later_place(under->to, run->from);
			const uint32_t to = sooner_place(under->to + under->n, end);

			delta_maker_run(&c->maker, run->to + from - run->from,
					under->from + from - under->to, to - from);
		}
	}
}

/* Fresh records of the first delta that the second keeps, by their place in the composed policy. */
struct carried {
	uint32_t at, n;
	const unsigned char *records;
};

typedef ARRAY(struct carried) carried_t;

/* Lists records from @at to before @end but those in whose place the second delta has its own. */
static void list_between(const struct delta_table *second, struct carried range, size_t size,
			 carried_t *list)
{
	const uint32_t end = range.at + range.n;
	uint32_t at = range.at;

	for (uint32_t i = delta_first_new(second, at); at < end; i++) {
		const bool more = i < second->n_fresh;
		const uint32_t until = more ? sooner_place(second->fresh[i].at, end) : end;

		if (at < until)
			array_push(list,
				   ((struct carried){at, until - at,
						     range.records + (at - range.at) * size}));
		at = more ? second->fresh[i].at + second->fresh[i].n : end;
	}
}

static void list_carried(const struct composer *c, enum blob_table number, carried_t *list)
{
	const struct delta_table *first = &c->first->tables[number];
	const struct delta_table *second = &c->second->tables[number];
	const size_t size = table_layouts[number].size;

	for (uint32_t i = 0; i < second->n_runs; i++) {
		const struct delta_run *run = &second->runs[i];

		for (uint32_t k = delta_first_new(first, run->from);
		     k < first->n_fresh && first->fresh[k].at < run->from + run->n; k++) {
			const struct delta_fresh *fresh = &first->fresh[k];
			const uint32_t from = later_place(fresh->at, run->from);
			const uint32_t end = sooner_place(fresh->at + fresh->n, run->from + run->n);

			list_between(
				second,
				(struct carried){run->to + from - run->from, end - from,
						 first->records +
							 (fresh->before + from - fresh->at) * size},
				size, list);
		}
	}
}

/* The carried records refer to records of the policy in between, which may have other places now.
 */
static void put_carried(struct composer *c, enum blob_table number, const struct carried *range)
{
	const struct references own = references_of(number);
	const size_t size = table_layouts[number].size;
	unsigned char record[DELTA_RECORD_MAX] __attribute__((aligned(8)));

	if (!own.n) {
		delta_maker_new(&c->maker, range->at, range->n, range->records);
		return;
	}
	for (uint32_t i = 0; i < range->n; i++) {
		memcpy(record, range->records + i * size, size);
		references_move(&own, record, delta_place, c->second);
		delta_maker_new(&c->maker, range->at + i, 1, record);
	}
}

static void compose_new(struct composer *c, enum blob_table number)
{
	const struct delta_table *second = &c->second->tables[number];
	const size_t size = table_layouts[number].size;
	carried_t carried = {0};
	size_t next = 0;

	list_carried(c, number, &carried);
	for (uint32_t i = 0; i < second->n_fresh; i++) {
		const struct delta_fresh *fresh = &second->fresh[i];

		while (next < carried.n && carried.at[next].at < fresh->at)
			put_carried(c, number, &carried.at[next++]);
		delta_maker_new(&c->maker, fresh->at, fresh->n,
				second->records + fresh->before * size);
	}
	while (next < carried.n)
		put_carried(c, number, &carried.at[next++]);
	array_free(&carried);
}

static int compose(void *data)
{
	struct composer *c = data;
	struct delta_header header = c->second->header;

	header.base = c->first->header.base;
	header.base_generation = c->first->header.base_generation;
	delta_maker_open(&c->maker, &header);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++) {
		delta_maker_table(&c->maker, table, c->second->tables[table].n,
				  c->first->tables[table].n_base);
		compose_runs(c, table);
		compose_new(c, table);
		delta_maker_table_end(&c->maker);
	}
	c->payload = delta_maker_finish(&c->maker, &c->size);
	return 0;
}

int delta_compose(const struct delta *first, const struct delta *second, void **payload,
		  size_t *size)
{
	struct composer c = {.first = first, .second = second};
	int error = memory_guarded(compose, &c);

	delta_maker_close(&c.maker);
	if (error)
		return error;
	*payload = c.payload;
	*size = c.size;
	return 0;
}
