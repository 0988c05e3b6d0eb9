/* SPDX-License-Identifier: GPL-2.0-only */
/* The blob's frame: header, directory of tables, tables. check.c checks the records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "policy/blob_file.h"
#include "policy/check.h"
#include "maps/abi.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "A blob is little-endian and used where it stands."
#endif

/* The records are the file format: a change of one needs another BLOB_VERSION. */
_Static_assert(sizeof(struct blob_header) == 80 + 16 * BLOB_TABLES, "struct blob_header");
_Static_assert(sizeof(struct policy_cidr) == 20, "struct policy_cidr");
_Static_assert(sizeof(struct policy_requirement) == 16, "struct policy_requirement");
_Static_assert(sizeof(struct policy_clause) == 56, "struct policy_clause");
_Static_assert(sizeof(struct policy_matcher) == 32, "struct policy_matcher");
_Static_assert(sizeof(struct policy_namespace) == 16, "struct policy_namespace");
_Static_assert(sizeof(struct policy_node) == 24, "struct policy_node");
_Static_assert(sizeof(struct policy_endpoint) == 52, "struct policy_endpoint");
_Static_assert(sizeof(struct policy_address) == 32, "struct policy_address");
_Static_assert(sizeof(struct policy_prefix) == 24, "struct policy_prefix");
_Static_assert(sizeof(struct policy_rule) == 24, "struct policy_rule");
_Static_assert(sizeof(struct policy_audit) == 20, "struct policy_audit");
_Static_assert(sizeof(struct policy_given) == 52, "struct policy_given");
_Static_assert(sizeof(struct policy_given_rule) == 28, "struct policy_given_rule");
_Static_assert(sizeof(struct policy_given_peer) == 64, "struct policy_given_peer");
_Static_assert(sizeof(struct policy_given_port) == 12, "struct policy_given_port");
_Static_assert(sizeof(struct policy_expected) == 40, "struct policy_expected");
_Static_assert(sizeof(struct policy_segment) == 128, "struct policy_segment");
_Static_assert(sizeof(struct policy_variation) == 8, "struct policy_variation");
_Static_assert(sizeof(struct policy_resolution) == 32, "struct policy_resolution");
_Static_assert(sizeof(struct policy_named_port) == 8, "struct policy_named_port");
_Static_assert(sizeof(struct policy_class) == 24, "struct policy_class");
_Static_assert(sizeof(struct policy_pair) == 16, "struct policy_pair");
_Static_assert(sizeof(struct bh_interval) == 8, "struct bh_interval");
_Static_assert(sizeof(struct policy_named) == 16, "struct policy_named");
_Static_assert(sizeof(struct policy_service) == 24, "struct policy_service");
_Static_assert(sizeof(struct policy_service_port) == 16, "struct policy_service_port");
_Static_assert(sizeof(struct policy_backend) == 24, "struct policy_backend");
_Static_assert(sizeof(struct policy_frontend) == 24, "struct policy_frontend");

static size_t align8(size_t at)
{
	return (at + 7) & ~(size_t)7;
}

bool blob_is(const void *bytes, size_t size)
{
	return size >= strlen(BLOB_MAGIC) && !memcmp(bytes, BLOB_MAGIC, strlen(BLOB_MAGIC));
}

uint64_t blob_checksum(const void *bytes, size_t size)
{
	size_t from = offsetof(struct blob_header, lineage);

	return XXH3_64bits((const char *)bytes + from, size - from);
}

void blob_lay_out(struct blob_header *header, enum blob_table table, size_t n, size_t record)
{
	header->tables[table].at = align8(header->length);
	header->tables[table].n = n;
	header->length = header->tables[table].at + n * record;
}

static void copy(char *blob, enum blob_table table, const void *from, size_t n, size_t record)
{
	const struct blob_header *header = (const void *)blob;

	if (n)
		memcpy(blob + header->tables[table].at, from, n * record);
}

static struct blob_header header_of(const struct policy *policy)
{
	struct blob_header header = {
		.version = BLOB_VERSION,
		.abi = BH_ABI,
		.length = sizeof(header),
		POLICY_FACTS(policy),
	};

	memcpy(header.magic, BLOB_MAGIC, sizeof(header.magic));
#define LAY_OUT(type, name, moves) \
	blob_lay_out(&header, BLOB_TABLE_##name, policy->n_##name, sizeof(type));
	POLICY_TABLES(LAY_OUT)
#undef LAY_OUT
	return header;
}

uint64_t blob_length(const struct policy *policy)
{
	return header_of(policy).length;
}

int blob_write(struct policy *policy, void **bytes, size_t *size)
{
	const struct blob_header header = header_of(policy);
	struct blob_header *out = calloc(1, header.length);

	if (!out)
		return -ENOMEM;
	*out = header;
#define COPY(type, name, moves) \
	copy((char *)out, BLOB_TABLE_##name, policy->name, policy->n_##name, sizeof(type));
	POLICY_TABLES(COPY)
#undef COPY
	out->checksum = blob_checksum(out, header.length);
	policy->checksum = out->checksum;
	*bytes = out;
	*size = header.length;
	return 0;
}

static int check_header(const struct blob_header *header, size_t size, const struct where *where,
			struct diag *diag)
{
	if (size < sizeof(*header) || !blob_is(header, size)) {
		diag_error(diag, where, NULL, "not a compiled policy, or cut short");
		return -EINVAL;
	}
	if (header->version != BLOB_VERSION || header->abi != BH_ABI) {
		diag_error(diag, where, "version",
			   "version %u.%u, and this command reads %u.%u: compile it again",
			   header->version, header->abi, BLOB_VERSION, BH_ABI);
		return -EINVAL;
	}
	if (header->length != size) {
		diag_error(diag, where, "length", "%llu bytes, but the file has %zu",
			   (unsigned long long)header->length, size);
		return -EINVAL;
	}
	return 0;
}

static int check_sum(const struct blob_header *header, size_t size, const struct where *where,
		     struct diag *diag)
{
	if (header->checksum == blob_checksum(header, size))
		return 0;
	diag_error(diag, where, "checksum", "does not match: the file is damaged");
	return -EINVAL;
}

/* Finds the tables of a blob in order. After the first error it finds no more. */
struct placing {
	char *bytes;
	size_t size, end; /* bytes of the blob; bytes of the tables found so far */
	bool whole; /* all of the blob is there, not only its header */
	const struct where *where;
	struct diag *diag;
	bool failed;
};

static void *place(struct placing *placing, enum blob_table table, const char *name, size_t record,
		   size_t *count)
{
	const struct blob_header *header = (const void *)placing->bytes;
	uint64_t at = header->tables[table].at, n = header->tables[table].n;
	const char *problem = NULL;

	if (placing->failed)
		return NULL;
	if (at != align8(placing->end) || at > placing->size || n > UINT32_MAX ||
	    n > (placing->size - at) / record)
		problem = "does not lie in the file";
	for (size_t i = placing->end; placing->whole && !problem && i < at; i++)
		if (placing->bytes[i])
			problem = "follows stray bytes";
	if (problem) {
		diag_error(placing->diag, placing->where, name, "%s", problem);
		placing->failed = true;
		return NULL;
	}
	placing->end = at + n * record;
	*count = n;
	return placing->bytes + at;
}

static int place_tables(struct placing *placing, struct policy *policy)
{
#define PLACE(type, name, moves) \
	policy->name = place(placing, BLOB_TABLE_##name, #name, sizeof(type), &policy->n_##name);
	POLICY_TABLES(PLACE)
#undef PLACE
	if (!placing->failed && placing->end != placing->size) {
		diag_error(placing->diag, placing->where, "length",
			   "%zu bytes follow the last table", placing->size - placing->end);
		placing->failed = true;
	}
	return placing->failed ? -EINVAL : 0;
}

static int open_policy(void *bytes, size_t size, bool whole, const struct where *where,
		       struct diag *diag, struct policy **result)
{
	struct placing placing = {.bytes = bytes,
				  .size = size,
				  .end = sizeof(struct blob_header),
				  .whole = whole,
				  .where = where,
				  .diag = diag};
	const struct blob_header *header = bytes;
	struct policy *policy = calloc(1, sizeof(*policy));
	int error;

	if (!policy)
		return -ENOMEM;
	*policy = (struct policy){
		POLICY_FACTS(header),
		.checksum = header->checksum,
		.blob = bytes,
	};
	error = place_tables(&placing, policy);
	if (error)
		free(policy);
	else
		*result = policy;
	return error;
}

int blob_read(void *bytes, size_t size, const struct where *where, struct diag *diag,
	      struct policy **result)
{
	struct policy *policy;
	int error = check_header(bytes, size, where, diag);

	if (!error)
		error = check_sum(bytes, size, where, diag);
	if (!error)
		error = open_policy(bytes, size, true, where, diag, &policy);
	if (error)
		return error;
	error = policy_check(policy, where, diag);
	if (error)
		free(policy);
	else
		*result = policy;
	return error;
}

int blob_view(void *bytes, size_t size, struct policy_source *source, const struct where *where,
	      struct diag *diag, struct lazy_policy **result)
{
	struct policy *policy;
	int error;

	if (size >= sizeof(struct blob_header))
		source->need(source, bytes, sizeof(struct blob_header));
	error = source->error ? source->error : check_header(bytes, size, where, diag);
	if (!error)
		error = open_policy(bytes, size, false, where, diag, &policy);
	if (error)
		return error;
	policy->source = source;
	*result = &policy->lazy;
	return 0;
}
