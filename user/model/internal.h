/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of this room share: how the cluster's arrays grow and are put in order. */
#ifndef BULKHEAD_MODEL_INTERNAL_H
#define BULKHEAD_MODEL_INTERNAL_H

#include "model/cluster.h"

/* @memory; where it is NULL, the guarded work ends (memory.h). */
void *check_memory(void *memory);

/* A zeroed new last element of @array, of @size bytes. */
void *array_grow(void **array, size_t *n, size_t size);

/* qsort() that takes an empty array. */
void array_order(void *array, size_t n, size_t size, int (*order)(const void *, const void *));

/* File, then line: which of two equal objects a message names as the first. */
int where_order(const struct where *a, const struct where *b);

/* Reports that the object @ns/@name (@ns NULL: cluster-scoped) of the kind @what stands twice. */
void given_twice(struct diag *diag, const struct where *first, const struct where *second,
		 const char *what, const char *ns, const char *name);

#endif
