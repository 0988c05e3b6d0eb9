// SPDX-License-Identifier: GPL-2.0-only
/* The delta of an extended policy: its tables have all records of the policy's, in the same
 * order, and more. Only a segment's record may change in its place, when it gets a variation. */
#include <errno.h>

#include "policy/delta_maker.h"
#include "compile/extend.h"
#include "policy/references.h"

struct delta_extension {
	const struct policy *policy;
	const struct policy *extended;
	struct delta_maker maker;
	void *payload;
	size_t size;
};

static bool is_same(const struct delta_extension *e, enum blob_table table, size_t i, size_t before,
		    size_t n)
{
	return !n || !memcmp(table_record(e->extended, table, i),
			     table_record(e->policy, table, before), n * table_layouts[table].size);
}

static void put_new(struct delta_extension *e, enum blob_table table, size_t i)
{
	delta_maker_new(&e->maker, i, 1, table_record(e->extended, table, i));
}

static void put_table(struct delta_extension *e, enum blob_table table)
{
	const size_t n = table_count(e->extended, table), n_base = table_count(e->policy, table);
	size_t before = 0;

	delta_maker_table(&e->maker, table, n, n_base);
	if (is_same(e, table, 0, 0, n_base)) {
		if (n_base)
			delta_maker_run(&e->maker, 0, 0, n_base);
		for (size_t i = n_base; i < n; i++)
			put_new(e, table, i);
	} else {
		for (size_t i = 0; i < n; i++) {
			const bool has = before < n_base;
			const bool same = has && is_same(e, table, i, before, 1);

			if (same || (has && table == BLOB_TABLE_segments))
				delta_maker_run(&e->maker, i, before++, 1);
			if (!same)
				put_new(e, table, i);
		}
	}
	delta_maker_table_end(&e->maker);
}

static int make(void *data)
{
	struct delta_extension *e = data;
	const struct policy *policy = e->policy, *extended = e->extended;
	const struct delta_header header = {
		.base = policy->checksum,
		/* an extended policy has no checksum of its own: its pin has one */
		.checksum = extended == policy ? policy->checksum : 0,
		.base_generation = policy->generation,
		.blob_version = BLOB_VERSION,
		POLICY_FACTS(extended),
	};

	delta_maker_open(&e->maker, &header);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		put_table(e, table);
	e->payload = delta_maker_finish(&e->maker, &e->size);
	return 0;
}

int extend_delta(const struct policy *policy, const struct policy *extended, struct delta **delta)
{
	struct delta_extension e = {.policy = policy, .extended = extended};
	struct diag silent = {0};
	int error = memory_guarded(make, &e);

	delta_maker_close(&e.maker);
	return error ? error : delta_open(e.payload, e.size, NULL, &silent, delta);
}
