/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blob: a policy as one run of bytes. Little-endian, at offset
 *
 *     0  struct blob_header
 *   ...  the tables of struct policy, in the order of POLICY_TABLES, each at the
 *        next multiple of 8; the bytes between are 0
 *
 * The file ends with the last table. The records are those of policy.h and
 * maps/, so the bytes are used where they stand; a host of the other byte order
 * cannot build the command.
 */
#ifndef BULKHEAD_POLICY_BLOB_FILE_H
#define BULKHEAD_POLICY_BLOB_FILE_H

#include "policy/policy.h"

#define BLOB_MAGIC "bulkhead"
#define BLOB_VERSION 9

#define BLOB_TABLE(type, name, moves) BLOB_TABLE_##name,
enum blob_table { POLICY_TABLES(BLOB_TABLE) BLOB_TABLES };
#undef BLOB_TABLE

struct blob_header {
	char magic[8]; /* BLOB_MAGIC, without a NUL */
	uint32_t version; /* BLOB_VERSION */
	uint32_t abi; /* BH_ABI: port lists, verdict words and segment flags are the maps' */
	uint64_t length; /* of the whole blob, bytes */
	uint64_t checksum; /* XXH3 (64 bits, no seed) of all that follows this field */
	uint64_t lineage, parent;
	uint32_t generation, uplinks_n, node;
	uint32_t next_segment, next_class, next_rule, next_resolution, next_list;
	struct {
		uint64_t at; /* offset in the blob, bytes */
		uint64_t n; /* records */
	} tables[BLOB_TABLES];
};

/* Returns true if @bytes begin like a blob. Tells a blob from text; does not check it. */
bool blob_is(const void *bytes, size_t size);

/* Returns the checksum for a blob of these bytes. @size is at least the header's. */
uint64_t blob_checksum(const void *bytes, size_t size);

/* Places the next table, of @n records of @record bytes, behind @header->length. */
void blob_lay_out(struct blob_header *header, enum blob_table table, size_t n, size_t record);

/* Returns how many bytes blob_write() would make. */
uint64_t blob_length(const struct policy *policy);

/* Returns 0 and bytes to free, or -ENOMEM. Sets policy->checksum. */
int blob_write(struct policy *policy, void **bytes, size_t *size);

/*
 * Checks every byte before it uses any: lengths, checksum, every reference, order and range.
 * Takes over @bytes (malloc'ed) on success. Returns 0; -EINVAL with the reason in @diag; or
 * -ENOMEM.
 */
int blob_read(void *bytes, size_t size, const struct where *where, struct diag *diag,
	      struct policy **policy);

/*
 * As blob_read(), for bytes that blob_read() accepted before they were stored, and that @source
 * reads when they are needed. Checks the header only. On success the policy owns @bytes, and
 * @source must outlive the policy.
 */
int blob_view(void *bytes, size_t size, struct policy_source *source, const struct where *where,
	      struct diag *diag, struct lazy_policy **policy);

#endif
