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
			const uint32_t from = under->to > run->from ? under->to : run->from;
			const uint32_t to = under->to + under->n < end ? under->to + under->n : end;

			delta_maker_run(&c->maker, run->to + from - run->from,
					under->from + from - under->to, to - from);
		}
	}
}

struct fresh_record {
	uint32_t at;
	/* a record of the second delta, or one of the first whose references are to be changed */
	const unsigned char *record;
	bool moves;
};

typedef ARRAY(struct fresh_record) fresh_records_t;

static void list_carried(const struct composer *c, enum blob_table number, fresh_records_t *list)
{
	const struct delta_table *first = &c->first->tables[number];
	const struct delta_table *second = &c->second->tables[number];
	const size_t size = table_layouts[number].size;

	for (uint32_t i = 0; i < second->n_runs; i++) {
		const struct delta_run *run = &second->runs[i];
		const uint32_t end = run->from + run->n;

		for (uint32_t k = delta_first_new(first, run->from);
		     k < first->n_fresh && first->fresh[k].at < end; k++) {
			const struct delta_fresh *fresh = &first->fresh[k];

			for (uint32_t j = 0; j < fresh->n; j++)
				if (fresh->at + j >= run->from && fresh->at + j < end &&
				    !delta_is_new(second, run->to + fresh->at + j - run->from))
					array_push(
						list,
						((struct fresh_record){
							run->to + fresh->at + j - run->from,
							first->records + (fresh->before + j) * size,
							true}));
		}
	}
}

static int compare_records(const void *a, const void *b)
{
	const struct fresh_record *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void compose_new(struct composer *c, enum blob_table number)
{
	const struct delta_table *second = &c->second->tables[number];
	const struct references own = references_of(number);
	const size_t size = table_layouts[number].size;
	unsigned char record[DELTA_RECORD_MAX] __attribute__((aligned(8)));
	fresh_records_t list = {0};

	list_carried(c, number, &list);
	for (uint32_t i = 0; i < second->n_fresh; i++)
		for (uint32_t j = 0; j < second->fresh[i].n; j++)
			array_push(&list,
				   ((struct fresh_record){
					   second->fresh[i].at + j,
					   second->records + (second->fresh[i].before + j) * size,
					   false}));
	array_sort(&list, compare_records);
	for (size_t i = 0; i < list.n; i++) {
		memcpy(record, list.at[i].record, size);
		if (list.at[i].moves)
			references_move(&own, record, delta_place, c->second);
		delta_maker_new(&c->maker, list.at[i].at, record);
	}
	array_free(&list);
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
