// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "policy/delta.h"
#include "policy/lazy_policy.h"
#include "policy/references.h"
#include "maps/abi.h"
#include "model/search.h"

_Static_assert(sizeof(struct delta_file) == 32, "struct delta_file");
_Static_assert(sizeof(struct delta_directory) == 32, "struct delta_directory");
_Static_assert(sizeof(struct delta_header) == 72 + 32 * BLOB_TABLES, "struct delta_header");

/* Bytes of the largest payload. Each table has at most 2^32 records, and most have far fewer. */
#define LENGTH_MAX (1ull << 32)

#define COMPRESSION_LEVEL 3

bool delta_is(const void *bytes, size_t size)
{
	return size >= strlen(DELTA_MAGIC) && !memcmp(bytes, DELTA_MAGIC, strlen(DELTA_MAGIC));
}

/* @size is at least a delta_file's. */
static uint64_t checksum_of(const void *bytes, size_t size)
{
	const size_t from = offsetof(struct delta_file, length);

	return XXH3_64bits((const char *)bytes + from, size - from);
}

static const char *check_file(const struct delta_file *file, size_t size)
{
	if (size < sizeof(*file) || !delta_is(file, size))
		return "not a delta of a policy, or cut short";
	if (file->version != DELTA_VERSION || file->abi != BH_ABI)
		return "of another version of this command: compile it again";
	if (file->length < sizeof(struct delta_header) || file->length > LENGTH_MAX)
		return "its length is out of range";
	return file->checksum == checksum_of(file, size)
		       ? NULL
		       : "its checksum does not match: the file is damaged";
}

static int compare_from(const void *a, const void *b)
{
	const struct delta_run *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Returns true if a range of at least one record begins at @end or behind it, and ends within
 * @limit. Moves @end to its end. */
static bool follows(uint32_t at, uint32_t n, uint64_t limit, uint64_t *end)
{
	const bool is_behind = n && at >= *end;

	*end = (uint64_t)at + n;
	return is_behind && *end <= limit;
}

/* Returns true if the runs ascend and do not overlap, in the policy and in the base. */
static bool check_runs(const struct delta_table *table)
{
	uint64_t to = 0, from = 0;

	for (uint32_t i = 0; i < table->n_runs; i++)
		if (!follows(table->runs[i].to, table->runs[i].n, table->n, &to) ||
		    !follows(table->by_from[i].from, table->by_from[i].n, table->n_base, &from))
			return false;
	return true;
}

static bool check_new(const struct delta_table *table, uint32_t n_records)
{
	uint64_t end = 0, before = 0;

	for (uint32_t i = 0; i < table->n_fresh; i++) {
		const struct delta_fresh *fresh = &table->fresh[i];

		if (!follows(fresh->at, fresh->n, table->n, &end) || fresh->before != before)
			return false;
		before += fresh->n;
	}
	return before == n_records;
}

/* Returns true if every record is in a run or fresh. */
static bool is_covered(const struct delta_table *table)
{
	uint64_t at = 0;
	uint32_t run = 0, fresh = 0;

	while (at < table->n) {
		while (run < table->n_runs && table->runs[run].to + table->runs[run].n <= at)
			run++;
		while (fresh < table->n_fresh &&
		       table->fresh[fresh].at + table->fresh[fresh].n <= at)
			fresh++;
		if (run < table->n_runs && table->runs[run].to <= at)
			at = (uint64_t)table->runs[run].to + table->runs[run].n;
		else if (fresh < table->n_fresh && table->fresh[fresh].at <= at)
			at = (uint64_t)table->fresh[fresh].at + table->fresh[fresh].n;
		else
			return false;
	}
	return true;
}

/* Returns 0, -EINVAL, or -ENOMEM. */
static int open_table(struct delta *delta, enum blob_table number, uint64_t length)
{
	const struct delta_directory *directory = &delta->header.tables[number];
	struct delta_table *table = &delta->tables[number];
	const uint64_t runs = (uint64_t)directory->n_runs * sizeof(*table->runs);
	const uint64_t fresh = (uint64_t)directory->n_fresh * sizeof(*table->fresh);
	const uint64_t records = (uint64_t)directory->n_records * table_layouts[number].size;
	const char *at = (const char *)delta->payload + directory->at;

	if (directory->at % 8 || directory->at > length ||
	    runs + fresh + records > length - directory->at)
		return -EINVAL;
	*table = (struct delta_table){
		.n = directory->n,
		.n_base = directory->n_base,
		.runs = (const void *)at,
		.n_runs = directory->n_runs,
		.fresh = (const void *)(at + runs),
		.n_fresh = directory->n_fresh,
		.records = (const void *)(at + runs + fresh),
		.by_from = malloc(runs + 1),
	};
	if (!table->by_from)
		return -ENOMEM;
	memcpy(table->by_from, at, runs);
	if (table->n_runs)
		qsort(table->by_from, table->n_runs, sizeof(*table->by_from), compare_from);
	return check_runs(table) && check_new(table, directory->n_records) && is_covered(table)
		       ? 0
		       : -EINVAL;
}

static bool check_records(const struct delta *delta, enum blob_table number)
{
	const struct delta_table *table = &delta->tables[number];
	const struct references own = references_of(number);
	const size_t size = table_layouts[number].size;

	for (uint32_t i = 0; i < delta->header.tables[number].n_records; i++)
		if (!references_fit(&own, table->records + i * size, delta->n))
			return false;
	return true;
}

/* Returns 0, -EINVAL, or -ENOMEM. */
static int open_tables(struct delta *delta)
{
	int error = 0;

	if (delta->size < sizeof(delta->header))
		return -EINVAL;
	memcpy(&delta->header, delta->payload, sizeof(delta->header));
	if (delta->header.blob_version != BLOB_VERSION)
		return -EINVAL;
	for (enum blob_table table = 0; !error && table < BLOB_TABLES; table++)
		error = open_table(delta, table, delta->size);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		delta->n[table] = delta->tables[table].n;
	for (enum blob_table table = 0; !error && table < BLOB_TABLES; table++)
		error = check_records(delta, table) ? 0 : -EINVAL;
	if (!error && delta->header.node >= delta->n[BLOB_TABLE_strings])
		error = -EINVAL;
	return error;
}

int delta_open(void *payload, size_t size, const struct where *where, struct diag *diag,
	       struct delta **result)
{
	struct delta *delta = calloc(1, sizeof(*delta));
	int error;

	if (!delta) {
		free(payload);
		return -ENOMEM;
	}
	delta->payload = payload;
	delta->size = size;
	error = open_tables(delta);
	if (error == -EINVAL)
		diag_error(diag, where, NULL, "a delta whose parts do not fit together");
	if (error)
		delta_free(delta);
	else
		*result = delta;
	return error;
}

/* As delta_open(), of a delta that says what it comes to. */
static int open_whole(void *payload, size_t size, const struct where *where, struct diag *diag,
		      struct delta **result)
{
	struct delta *delta;
	int error = delta_open(payload, size, where, diag, &delta);

	if (error)
		return error;
	if (delta->header.checksum) {
		*result = delta;
		return 0;
	}
	diag_error(diag, where, NULL, "a delta without the checksum of its policy");
	delta_free(delta);
	return -EINVAL;
}

int delta_read(const void *bytes, size_t size, const struct where *where, struct diag *diag,
	       struct delta **delta)
{
	const struct delta_file *file = bytes;
	const char *fault = check_file(file, size);
	void *payload;

	if (fault) {
		diag_error(diag, where, NULL, "%s", fault);
		return -EINVAL;
	}
	payload = malloc(file->length);
	if (!payload)
		return -ENOMEM;
	if (ZSTD_decompress(payload, file->length, file + 1, size - sizeof(*file)) == file->length)
		return open_whole(payload, file->length, where, diag, delta);
	free(payload);
	diag_error(diag, where, NULL, "does not decompress");
	return -EINVAL;
}

int delta_write(const struct delta *delta, void **bytes, size_t *size)
{
	struct delta_file header = {.version = DELTA_VERSION, .abi = BH_ABI, .length = delta->size};
	const size_t capacity = ZSTD_compressBound(delta->size);
	struct delta_file *file = malloc(sizeof(*file) + capacity);
	size_t packed;

	if (!file)
		return -ENOMEM;
	memcpy(header.magic, DELTA_MAGIC, sizeof(header.magic));
	*file = header;
	packed = ZSTD_compress(file + 1, capacity, delta->payload, delta->size, COMPRESSION_LEVEL);
	if (ZSTD_isError(packed)) {
		free(file);
		return -ENOMEM;
	}
	*size = sizeof(*file) + packed;
	file->checksum = checksum_of(file, *size);
	*bytes = file;
	return 0;
}

void delta_free(struct delta *delta)
{
	for (enum blob_table table = 0; delta && table < BLOB_TABLES; table++)
		free(delta->tables[table].by_from);
	free(delta ? delta->payload : NULL);
	free(delta);
}

uint32_t delta_place(const void *data, enum blob_table target, uint32_t index)
{
	const struct delta_table *table = &((const struct delta *)data)->tables[target];
	const uint32_t behind = SEARCH(table->n_runs, i, table->by_from[i].from <= index);
	const struct delta_run *run = behind ? &table->by_from[behind - 1] : NULL;

	if (!run || index - run->from >= run->n)
		return UINT32_MAX;
	return run->to + index - run->from;
}

uint32_t delta_first_new(const struct delta_table *table, uint32_t record)
{
	return SEARCH(table->n_fresh, i, table->fresh[i].at + table->fresh[i].n <= record);
}

bool delta_is_new(const struct delta_table *table, uint32_t record)
{
	const uint32_t i = delta_first_new(table, record);

	return i < table->n_fresh && table->fresh[i].at <= record;
}

uint32_t delta_first_run(const struct delta_table *table, uint32_t record)
{
	return SEARCH(table->n_runs, i, table->runs[i].to + table->runs[i].n <= record);
}

uint32_t delta_next_new(const struct delta_table *table, uint32_t record)
{
	const uint32_t i = delta_first_new(table, record);

	if (i == table->n_fresh)
		return table->n;
	return table->fresh[i].at > record ? table->fresh[i].at : record;
}

uint32_t delta_next_deleted(const struct delta_table *table, uint32_t record)
{
	uint32_t i =
		SEARCH(table->n_runs, k, table->by_from[k].from + table->by_from[k].n <= record);

	for (; i < table->n_runs && table->by_from[i].from <= record; i++)
		record = table->by_from[i].from + table->by_from[i].n;
	return record < table->n_base ? record : table->n_base;
}

bool delta_keeps_places(const struct delta_table *table)
{
	return !table->n_base ||
	       (table->n_runs == 1 && !table->runs->to && table->runs->n == table->n_base);
}

bool delta_is_final(const struct delta_table *table)
{
	return table->n == table->n_base && !table->n_fresh && delta_keeps_places(table);
}

bool delta_keeps_records(const struct delta_table *table)
{
	for (uint32_t i = 0; i < table->n_fresh; i++) {
		const struct delta_fresh *fresh = &table->fresh[i];
		const uint32_t run = delta_first_run(table, fresh->at);

		if (run < table->n_runs && table->runs[run].to < fresh->at + fresh->n)
			return false;
	}
	return true;
}

/* How a table may differ between two policies with the same segments. */
enum sameness {
	SAME_RECORDS, /* not at all; a table that is not named below */
	MORE_OR_LESS, /* records that others refer to may be added and deleted */
	ENDPOINTS, /* freely: it is about endpoints, their names and addresses */
};

static const enum sameness samenesses[BLOB_TABLES] = {
	[BLOB_TABLE_strings] = ENDPOINTS,
	[BLOB_TABLE_texts] = MORE_OR_LESS,
	[BLOB_TABLE_numbers] = MORE_OR_LESS,
	[BLOB_TABLE_cidrs] = MORE_OR_LESS,
	[BLOB_TABLE_named_ports] = MORE_OR_LESS,
	[BLOB_TABLE_endpoints] = ENDPOINTS,
	[BLOB_TABLE_endpoint_addresses] = ENDPOINTS,
	[BLOB_TABLE_addresses] = ENDPOINTS,
	[BLOB_TABLE_host_pods] = ENDPOINTS,
	[BLOB_TABLE_expected] = ENDPOINTS,
};

bool delta_keeps_segments(const struct delta *delta)
{
	for (enum blob_table table = 0; table < BLOB_TABLES; table++) {
		const struct delta_table *difference = &delta->tables[table];
		const enum sameness sameness = samenesses[table];

		if (sameness == MORE_OR_LESS && !delta_keeps_records(difference))
			return false;
		if (sameness == SAME_RECORDS && !delta_is_final(difference))
			return false;
	}
	return true;
}

uint32_t delta_origin(const struct delta_table *table, uint32_t record)
{
	const uint32_t i = delta_first_run(table, record);

	if (i == table->n_runs || table->runs[i].to > record)
		return UINT32_MAX;
	return table->runs[i].from + record - table->runs[i].to;
}

/* Returns the references of the table's records that may lead to another place than in the base. */
static struct references moving(const struct delta *delta, enum blob_table table)
{
	struct references own = references_of(table);

	for (size_t i = 0; i < own.n; i++) {
		const struct delta_table *target = &delta->tables[own.at[i].target];

		if (!target->n_base || !delta_keeps_places(target))
			return own;
	}
	own.n = 0;
	return own;
}

/* Copies records of one run, with the fresh records among them. */
static int copy_run(const struct delta *delta, const struct lazy_policy *base,
		    enum blob_table number, const struct delta_run *run, uint32_t from,
		    uint32_t end, char *to)
{
	const struct delta_table *table = &delta->tables[number];
	const struct references own = moving(delta, number);
	const size_t size = table_layouts[number].size;

	memcpy(to,
	       lazy_read(base, lazy_table_record(base, number, run->from + from - run->to),
			 (end - from) * size),
	       (end - from) * size);
	for (uint32_t i = from; own.n && i < end; i++)
		if (!delta_is_new(table, i) &&
		    (!references_move(&own, to + (i - from) * size, delta_place, delta) ||
		     !references_fit(&own, to + (i - from) * size, delta->n)))
			return -EINVAL;
	return 0;
}

int delta_records(const struct delta *delta, const struct lazy_policy *base, enum blob_table number,
		  uint32_t from, uint32_t n, void *records)
{
	const struct delta_table *table = &delta->tables[number];
	const size_t size = table_layouts[number].size;
	const uint32_t end = from + n;
	char *to = records;
	int error = 0;

	for (uint32_t i = delta_first_run(table, from);
	     !error && i < table->n_runs && table->runs[i].to < end; i++) {
		const struct delta_run *run = &table->runs[i];
		const uint32_t first = later_place(run->to, from);

		error = copy_run(delta, base, number, run, first,
				 sooner_place(run->to + run->n, end), to + (first - from) * size);
	}
	for (uint32_t i = delta_first_new(table, from);
	     i < table->n_fresh && table->fresh[i].at < end; i++) {
		const struct delta_fresh *fresh = &table->fresh[i];
		const uint32_t first = later_place(fresh->at, from);

		memcpy(to + (first - from) * size,
		       table->records + (fresh->before + first - fresh->at) * size,
		       (sooner_place(fresh->at + fresh->n, end) - first) * size);
	}
	return error;
}

struct blob_header delta_blob_header(const struct delta *delta)
{
	const struct delta_header *from = &delta->header;
	struct blob_header header = {
		.version = BLOB_VERSION,
		.abi = BH_ABI,
		.checksum = from->checksum,
		POLICY_FACTS(from),
	};

	memcpy(header.magic, BLOB_MAGIC, sizeof(header.magic));
	header.length = sizeof(header);
	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		blob_lay_out(&header, table, delta->tables[table].n, table_layouts[table].size);
	return header;
}

/* Builds the whole policy's blob, unchecked. Returns 0, -EINVAL or -ENOMEM. */
static int build(const struct delta *delta, const struct lazy_policy *base, void **bytes,
		 size_t *size)
{
	struct blob_header header = delta_blob_header(delta);
	char *blob = calloc(1, header.length);
	int error = 0;

	if (!blob)
		return -ENOMEM;
	memcpy(blob, &header, sizeof(header));
	for (enum blob_table table = 0; !error && table < BLOB_TABLES; table++)
		error = delta_records(delta, base, table, 0, delta->tables[table].n,
				      blob + header.tables[table].at);
	if (!error && !header.checksum) {
		header.checksum = blob_checksum(blob, header.length);
		memcpy(blob, &header, sizeof(header));
	}
	if (!error && blob_checksum(blob, header.length) != header.checksum)
		error = -EINVAL;
	if (error) {
		free(blob);
		return error;
	}
	*bytes = blob;
	*size = header.length;
	return 0;
}

static bool ends_in_nul(const struct delta *delta, const struct lazy_policy *base)
{
	const uint32_t n = delta->n[BLOB_TABLE_strings];
	char last = 1;

	return n && !delta_records(delta, base, BLOB_TABLE_strings, n - 1, 1, &last) && !last;
}

int delta_check_base(const struct delta *delta, const struct lazy_policy *base, const char *what,
		     const struct where *where, struct diag *diag)
{
	const struct delta_header *header = &delta->header;
	bool fits = base && base->checksum == header->base;

	for (enum blob_table table = 0; fits && table < BLOB_TABLES; table++)
		fits = lazy_table_count(base, table) == delta->tables[table].n_base;
	if (fits && ends_in_nul(delta, base))
		return 0;
	if (fits)
		diag_error(diag, where, NULL, "a delta whose parts do not fit together");
	else if (base)
		diag_error(diag, where, NULL,
			   "is a delta of the policy %016llx of generation %u; %s is %016llx of "
			   "generation %u",
			   (unsigned long long)header->base, header->base_generation, what,
			   (unsigned long long)base->checksum, base->generation);
	else
		diag_error(diag, where, NULL,
			   "is a delta of the policy %016llx of generation %u: %s",
			   (unsigned long long)header->base, header->base_generation, what);
	return -EINVAL;
}

int delta_apply(const struct delta *delta, const struct lazy_policy *base, const char *what,
		const struct where *where, struct diag *diag, struct policy **policy)
{
	void *bytes = NULL;
	size_t size;
	int error = delta_check_base(delta, base, what, where, diag);

	if (error)
		return error;
	error = build(delta, base, &bytes, &size);
	if (error == -EINVAL)
		diag_error(diag, where, NULL,
			   "does not come to the policy that it was made from: compile it again");
	if (!error)
		error = blob_read(bytes, size, where, diag, policy);
	if (error)
		free(bytes);
	return error;
}
