/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interning: equal runs of bytes get one number, from 0 in the order of first appearance.
 * Content is compared, not only hashes: a tenant who makes hashes collide must not make rules
 * collide.
 */
#ifndef BULKHEAD_MODEL_INTERN_H
#define BULKHEAD_MODEL_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/grow.h"

struct intern_entry {
	uint64_t hash;
	size_t at;
	uint32_t size;
};

struct intern {
	ARRAY(struct intern_entry) entries;
	ARRAY(unsigned char) bytes;
	uint32_t *slots; /* number of an entry + 1; 0: free */
	size_t mask;
};

#define INTERN_NONE UINT32_MAX

void intern_free(struct intern *intern);

/* Returns the number of @bytes. *@fresh (may be NULL): the number is new. */
uint32_t intern_add(struct intern *intern, const void *bytes, size_t size, bool *fresh);

/* Returns INTERN_NONE if @bytes were never added. */
uint32_t intern_find(const struct intern *intern, const void *bytes, size_t size);

/* The result is valid until the next intern_add(). */
static inline const void *intern_bytes(const struct intern *intern, uint32_t number, size_t *size)
{
	*size = intern->entries.at[number].size;
	return intern->bytes.at + intern->entries.at[number].at;
}

/* Returns a sorted set of numbers that was interned as bytes. */
static inline const uint32_t *intern_set(const struct intern *intern, uint32_t number, size_t *n)
{
	const uint32_t *at = intern_bytes(intern, number, n);

	*n /= sizeof(*at);
	return at;
}

#endif
