/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blob: a policy as one run of bytes. Little-endian: a header (magic
 * "bulkhead", format version, length, checksum, the scalars of struct policy),
 * a directory of tables, the tables.
 */
#ifndef BULKHEAD_COMPILE_BLOB_H
#define BULKHEAD_COMPILE_BLOB_H

#include "compile/policy.h"

#define BLOB_VERSION 1

/* Whether @bytes begin as a blob does; tells one from text, says nothing of its health. */
bool blob_is(const void *bytes, size_t size);

/* Returns 0 and bytes to free, or -ENOMEM. Sets policy->checksum. */
int blob_write(struct policy *policy, void **bytes, size_t *size);

/*
 * Checks every byte before any is used: lengths, checksum, every reference,
 * order and range. Takes @bytes (malloc'ed) over on success. Returns 0, or
 * -EINVAL with the reason in @diag.
 */
int blob_read(void *bytes, size_t size, const struct where *where, struct diag *diag,
	      struct policy **policy);

#endif
