/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of this folder: growing and sorting of the cluster's arrays. */
#ifndef BULKHEAD_MODEL_ARRAYS_H
#define BULKHEAD_MODEL_ARRAYS_H

#include "model/cluster.h"

/* Returns @memory. If it is NULL, ends the guarded work (memory.h). */
void *check_memory(void *memory);

/* Appends a zeroed element of @size bytes to @array and returns it. */
void *array_grow(void **array, size_t *n, size_t size);

/* qsort() for arrays that may be empty. */
void array_order(void *array, size_t n, size_t size, int (*order)(const void *, const void *));

/* Orders places by file and line. A message about two equal objects names the first place first. */
int where_order(const struct where *a, const struct where *b);

/* Reports that an object of the kind @what, @ns/@name (@ns NULL: cluster-scoped), is given
 * twice. */
void given_twice(struct diag *diag, const struct where *first, const struct where *second,
		 const char *what, const char *ns, const char *name);

/* owners.c: refuses a cluster address of two Services, and warns of an address that a Service
 * shares with a Pod or Node, or at one port with another Service. */
void owners_check(const struct cluster *cluster, struct diag *diag);

#endif
