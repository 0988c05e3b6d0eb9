// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a delta of two policies. A record of the base is found in the other
 * policy by its key, or as the same part of a record that was found (a
 * matcher's first clause). Finding fewer records only makes the delta larger:
 * a record that the base would not give byte for byte is stored as a fresh
 * one.
 */
#include <errno.h>

#include "model/intern.h"
#include "model/numbers.h"
#include "policy/delta_maker.h"
#include "policy/references.h"

#define NONE UINT32_MAX

struct pairing {
	uint32_t *from; /* by the policy's records: the base's record, or NONE */
	uint32_t *to; /* by the base's records: the policy's record, or NONE */
};

/* A field that is part of the key by which a table's records are told apart. The parts of a table
 * stand together in `keys`. */
struct key_part {
	enum blob_table table;
	uint32_t offset, size;
};

#define BY(table, field)                                                             \
	{                                                                            \
		BLOB_TABLE_##table, FIELD_AT(table, field), FIELD_SIZE(table, field) \
	}
#define BY_INDEX(table)                                 \
	{                                               \
		BLOB_TABLE_##table, 0, sizeof(uint32_t) \
	}

static const struct key_part keys[] = {
	BY(matchers, key),
	BY(namespaces, name),
	BY(nodes, name),
	BY(endpoints, ns),
	BY(endpoints, name),
	BY(addresses, address),
	BY(prefixes, address),
	BY(prefixes, length),
	BY(domains, name),
	BY(domains, class),
	BY(rules, id),
	BY(audits, id),
	BY(given, ns),
	BY(given, name),
	BY(given, kind),
	BY(isolations, policy),
	BY(isolations, matcher),
	BY(host_pods, name),
	BY(expected, ns),
	BY(expected, name),
	BY(segments, id),
	BY(resolutions, id),
	BY(classes, id),
	BY(lists, id),
	BY(pairs, subject),
	BY(pairs, peer),
	BY(named, list),
	BY(named, resolution),
	BY_INDEX(by_namespace),
	BY_INDEX(by_matchers),
	BY(services, ns),
	BY(services, name),
	BY(service_ports, service),
	BY(service_ports, port),
	BY(service_ports, protocol),
	BY(frontends, address),
	BY(frontends, service_port),
	BY(frontends, port),
	BY(frontends, protocol),
	BY(service_cidrs, address),
	BY(service_cidrs, length),
	BY(resolvers, address),
	BY(resolvers, length),
};

#define N_KEYS (sizeof(keys) / sizeof(*keys))

/* Each table comes after those of its keys, and after those whose records have parts in it. */
static const enum blob_table order[] = {
	BLOB_TABLE_matchers,	  BLOB_TABLE_clauses,	    BLOB_TABLE_given,
	BLOB_TABLE_given_rules,	  BLOB_TABLE_given_peers,   BLOB_TABLE_given_ports,
	BLOB_TABLE_requirements,  BLOB_TABLE_namespaces,    BLOB_TABLE_nodes,
	BLOB_TABLE_rules,	  BLOB_TABLE_isolations,    BLOB_TABLE_host_pods,
	BLOB_TABLE_expected,	  BLOB_TABLE_segments,	    BLOB_TABLE_resolutions,
	BLOB_TABLE_classes,	  BLOB_TABLE_lists,	    BLOB_TABLE_endpoints,
	BLOB_TABLE_addresses,	  BLOB_TABLE_prefixes,	    BLOB_TABLE_pairs,
	BLOB_TABLE_named,	  BLOB_TABLE_by_namespace,  BLOB_TABLE_by_matchers,
	BLOB_TABLE_services,	  BLOB_TABLE_service_ports, BLOB_TABLE_frontends,
	BLOB_TABLE_service_cidrs, BLOB_TABLE_audits,	    BLOB_TABLE_resolvers,
	BLOB_TABLE_domains,
};

struct writer {
	const struct policy *base, *policy;
	struct pairing tables[BLOB_TABLES];
	enum blob_table targets[N_KEYS]; /* by part: the table it refers to; BLOB_TABLES: none */
	struct policy_range parts[BLOB_TABLES]; /* in `keys` */
	/* by table: the base's records are where they were */
	bool keeps_places[BLOB_TABLES];
	struct delta_maker maker;
	void *payload;
	size_t size;
};

static void pair(struct pairing *pairing, uint32_t from, uint32_t to)
{
	if (pairing->from[to] != NONE || pairing->to[from] != NONE)
		return;
	pairing->from[to] = from;
	pairing->to[from] = to;
}

static uint32_t *all_none(size_t n)
{
	uint32_t *numbers = grow_zeroed(n, sizeof(*numbers));

	memset(numbers, 0xff, n * sizeof(*numbers));
	return numbers;
}

static enum blob_table target_of(const struct key_part *part)
{
	const struct references own = references_of(part->table);

	for (size_t i = 0; i < own.n; i++)
		if (own.at[i].offset == part->offset && own.at[i].kind == REFERS_TO_RECORD)
			return own.at[i].target;
	return BLOB_TABLES;
}

/* Pairs the first strings of both policies, the uplinks. */
static void start(struct writer *w)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		struct policy_range *parts = &w->parts[keys[i].table];

		w->targets[i] = target_of(&keys[i]);
		parts->at = parts->n ? parts->at : i;
		parts->n++;
	}
	for (enum blob_table table = 0; table < BLOB_TABLES; table++) {
		w->tables[table].from = all_none(table_count(w->policy, table));
		w->tables[table].to = all_none(table_count(w->base, table));
	}
	for (uint32_t i = 0; i < w->base->uplinks_n && i < w->policy->uplinks_n; i++)
		pair(&w->tables[BLOB_TABLE_texts], i, i);
}

static void pair_string(struct writer *w, size_t base, size_t own)
{
	const size_t size = strlen(w->base->strings + base) + 1;

	for (size_t k = 0; k < size; k++)
		pair(&w->tables[BLOB_TABLE_strings], base + k, own + k);
}

/* Pairs the strings with which both tables begin. Returns how many bytes they are. */
static size_t pair_first_strings(struct writer *w)
{
	size_t at = 0;

	while (at < w->base->n_strings && at < w->policy->n_strings &&
	       !strcmp(w->base->strings + at, w->policy->strings + at)) {
		pair_string(w, at, at);
		at += strlen(w->base->strings + at) + 1;
	}
	return at;
}

/* Pairs equal strings. Each stands once in the table. */
static void pair_strings(struct writer *w)
{
	const size_t from = pair_first_strings(w);
	struct intern strings = {0};
	numbers_t at = {0};

	for (size_t i = from; i < w->policy->n_strings; i += strlen(w->policy->strings + i) + 1) {
		const char *string = w->policy->strings + i;

		intern_add(&strings, string, strlen(string) + 1, NULL);
		array_push(&at, i);
	}
	for (size_t i = from; i < w->base->n_strings; i += strlen(w->base->strings + i) + 1) {
		const char *string = w->base->strings + i;
		const uint32_t number = intern_find(&strings, string, strlen(string) + 1);

		if (number != INTERN_NONE)
			pair_string(w, i, at.at[number]);
	}
	intern_free(&strings);
	array_free(&at);
}

static uint32_t place_of(const void *data, enum blob_table target, uint32_t index)
{
	const struct writer *w = data;

	return index < table_count(w->base, target) ? w->tables[target].to[index] : NONE;
}

/* Returns false if the table has no key, or the base's record refers to one that is gone. */
static bool make_key(const struct writer *w, enum blob_table table, const unsigned char *record,
		     bool is_base, bytes_t *key)
{
	const struct policy_range parts = w->parts[table];

	key->n = 0;
	for (size_t i = parts.at; i < parts.at + parts.n; i++) {
		const unsigned char *at = record + keys[i].offset;
		uint32_t place;

		if (w->targets[i] == BLOB_TABLES) {
			bytes_put(key, at, keys[i].size);
			continue;
		}
		place = *(const uint32_t *)at;
		if (is_base)
			place = place_of(w, w->targets[i], place);
		if (place == NONE)
			return false;
		bytes_number(key, place);
	}
	return key->n;
}

/* The records of both policies that are still to be paired: from @from on, before the two ends. */
struct rest {
	size_t from, end, base_end;
};

/* Returns true if both records have the same key. */
static bool are_equal(const struct writer *w, enum blob_table table, size_t own, size_t base)
{
	const struct policy_range parts = w->parts[table];

	for (size_t i = parts.at; i < parts.at + parts.n; i++) {
		const unsigned char *a = table_record(w->policy, table, own) + keys[i].offset;
		const unsigned char *b = table_record(w->base, table, base) + keys[i].offset;
		const bool refers = w->targets[i] != BLOB_TABLES;
		const uint32_t place =
			refers ? place_of(w, w->targets[i], *(const uint32_t *)b) : 0;

		if (refers ? place == NONE || place != *(const uint32_t *)a
			   : memcmp(a, b, keys[i].size) != 0)
			return false;
	}
	return parts.n;
}

/* Pairs the first records of both policies, and the last ones, as long as they have the same keys
 * in the same order: mostly, these are nearly all. */
static struct rest pair_ends(struct writer *w, enum blob_table table)
{
	struct rest rest = {0, table_count(w->policy, table), table_count(w->base, table)};

	while (rest.from < rest.end && rest.from < rest.base_end &&
	       are_equal(w, table, rest.from, rest.from)) {
		pair(&w->tables[table], rest.from, rest.from);
		rest.from++;
	}
	while (rest.from < rest.end && rest.from < rest.base_end &&
	       are_equal(w, table, rest.end - 1, rest.base_end - 1))
		pair(&w->tables[table], --rest.base_end, --rest.end);
	return rest;
}

static void pair_by_key(struct writer *w, enum blob_table table)
{
	struct intern known = {0};
	numbers_t first = {0};
	bytes_t key = {0};
	const struct rest rest = pair_ends(w, table);

	for (size_t i = rest.from; i < rest.end; i++) {
		bool fresh;

		if (!make_key(w, table, table_record(w->policy, table, i), false, &key))
			break;
		intern_add(&known, key.at, key.n, &fresh);
		if (fresh)
			array_push(&first, i);
	}
	for (size_t i = rest.from; first.n && i < rest.base_end; i++) {
		uint32_t number;

		if (!make_key(w, table, table_record(w->base, table, i), true, &key))
			continue;
		number = intern_find(&known, key.at, key.n);
		if (number != INTERN_NONE)
			pair(&w->tables[table], i, first.at[number]);
	}
	intern_free(&known);
	array_free(&first);
	array_free(&key);
}

/* Pairs what one reference leads to from two records that are a pair. */
static void pair_ranges(struct writer *w, enum blob_table table, const struct reference *reference)
{
	struct pairing *target = &w->tables[reference->target];

	for (size_t i = 0; i < table_count(w->policy, table); i++) {
		const uint32_t from = w->tables[table].from[i];
		struct policy_range old, new;

		if (from == NONE ||
		    !reference_range(reference, table_record(w->base, table, from), &old) ||
		    !reference_range(reference, table_record(w->policy, table, i), &new))
			continue;
		for (uint32_t j = 0; j < old.n && j < new.n; j++)
			pair(target, old.at + j, new.at + j);
	}
}

/* Pairs the parts of two records that are a pair. */
static void pair_parts(struct writer *w, enum blob_table table)
{
	const struct references own = references_of(table);

	for (size_t k = 0; k < own.n; k++)
		if (own.at[k].kind != REFERS_TO_RECORD)
			pair_ranges(w, table, &own.at[k]);
}

/* Returns true if all records of the base's table are records of the policy at the same places. */
static bool keeps_places(const struct writer *w, enum blob_table table)
{
	const size_t n = table_count(w->base, table);
	size_t i = 0;

	while (i < n && w->tables[table].to[i] == i)
		i++;
	return i == n;
}

/* Returns the references that records of the table have to tables in which places have changed. */
static struct references moving(const struct writer *w, enum blob_table table)
{
	struct references own = references_of(table);

	for (size_t i = 0; i < own.n; i++)
		if (!w->keeps_places[own.at[i].target])
			return own;
	own.n = 0;
	return own;
}

/* Returns true if the base's record @from gives the policy's record @i byte for byte. */
static bool is_as_in_base(const struct writer *w, enum blob_table table,
			  const struct references *own, uint32_t i, uint32_t from)
{
	const size_t size = table_layouts[table].size;
	unsigned char record[DELTA_RECORD_MAX] __attribute__((aligned(8)));

	memcpy(record, table_record(w->base, table, from), size);
	return references_move(own, record, place_of, w) &&
	       !memcmp(record, table_record(w->policy, table, i), size);
}

/* Returns how many records from the policy's record @i on are pairs of successive records of the
 * base, or, if @i is no pair, how many have no pair. */
static uint32_t run_length(const uint32_t *from, uint32_t i, uint32_t n)
{
	uint32_t end = i + 1;

	while (end < n && from[end] == (from[i] == NONE ? NONE : from[i] + (end - i)))
		end++;
	return end - i;
}

/* Puts those of @n records from @i on that the base's records from @from on do not give. */
static void put_changed(struct writer *w, enum blob_table table, const struct references *own,
			uint32_t i, uint32_t from, uint32_t n)
{
	if (from != NONE && !own->n &&
	    !memcmp(table_record(w->base, table, from), table_record(w->policy, table, i),
		    n * table_layouts[table].size))
		return;
	if (from == NONE) {
		delta_maker_new(&w->maker, i, n, table_record(w->policy, table, i));
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		if (!is_as_in_base(w, table, own, i + k, from + k))
			delta_maker_new(&w->maker, i + k, 1, table_record(w->policy, table, i + k));
}

static void put_table(struct writer *w, enum blob_table table)
{
	const uint32_t *from = w->tables[table].from;
	const struct references own = moving(w, table);
	const uint32_t n = table_count(w->policy, table);

	delta_maker_table(&w->maker, table, n, table_count(w->base, table));
	for (uint32_t i = 0, length; i < n; i += length) {
		length = run_length(from, i, n);
		if (from[i] != NONE)
			delta_maker_run(&w->maker, i, from[i], length);
		put_changed(w, table, &own, i, from[i], length);
	}
	delta_maker_table_end(&w->maker);
}

static struct delta_header header_of(const struct policy *base, const struct policy *policy)
{
	return (struct delta_header){
		.base = base->checksum,
		.checksum = policy->checksum,
		.base_generation = base->generation,
		.blob_version = BLOB_VERSION,
		POLICY_FACTS(policy),
	};
}

static int write_delta(void *data)
{
	struct writer *w = data;

	const struct delta_header header = header_of(w->base, w->policy);

	start(w);
	pair_strings(w);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		pair_by_key(w, order[i]);
		pair_parts(w, order[i]);
	}
	delta_maker_open(&w->maker, &header);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		w->keeps_places[table] = keeps_places(w, table);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		put_table(w, table);
	w->payload = delta_maker_finish(&w->maker, &w->size);
	return 0;
}

static void writer_free(struct writer *w)
{
	for (enum blob_table table = 0; table < BLOB_TABLES; table++) {
		free(w->tables[table].from);
		free(w->tables[table].to);
	}
	delta_maker_close(&w->maker);
}

/* Checks that the delta gives the policy, so that a defect shows here, not at a load. */
static int check_delta(const struct delta *delta, const struct policy *base)
{
	struct diag silent = {0};
	struct policy *whole = NULL;
	int error = delta_apply(delta, policy_lazy(base), "", NULL, &silent, &whole);

	policy_free(whole);
	return error == -EINVAL ? -EILSEQ : error;
}

int delta_make(const struct policy *base, const struct policy *policy, struct delta **delta)
{
	struct writer w = {.base = base, .policy = policy};
	struct diag silent = {0};
	int error = memory_guarded(write_delta, &w);

	writer_free(&w);
	if (!error)
		error = delta_open(w.payload, w.size, NULL, &silent, delta);
	if (!error)
		error = check_delta(*delta, base);
	return error;
}
