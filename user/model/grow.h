/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow element by element. When memory runs out, the guarded work ends
 * (model/memory.h). */
#ifndef BULKHEAD_MODEL_GROW_H
#define BULKHEAD_MODEL_GROW_H

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

#define ARRAY(type)                 \
	struct {                    \
		type *at;           \
		size_t n, capacity; \
	}

static inline void *grow_capacity(void *at, size_t *capacity, size_t wanted, size_t size)
{
	size_t more = wanted > 2 * *capacity ? wanted : 2 * *capacity;

	if (wanted <= *capacity)
		return at;
	if (more < 8)
		more = 8;
	at = reallocarray(at, more, size);
	if (!at)
		memory_exhausted();
	*capacity = more;
	return at;
}

/* Makes room for @more elements behind the last one. They are not set and do not count yet. */
#define array_reserve(array, more)                                                         \
	((array)->at = grow_capacity((array)->at, &(array)->capacity, (array)->n + (more), \
				     sizeof(*(array)->at)))

/* Appends an unset element and returns it. */
#define array_add(array) (array_reserve(array, 1), &(array)->at[(array)->n++])

#define array_push(array, value) ((void)(*array_add(array) = (value)))

#define array_free(array) free((array)->at)

/* qsort() must not get the NULL of an empty array. */
static inline void sort_records(void *at, size_t n, size_t size,
				int (*compare)(const void *, const void *))
{
	if (n)
		qsort(at, n, size, compare);
}

#define array_sort(array, compare) \
	sort_records((array)->at, (array)->n, sizeof(*(array)->at), compare)

static inline void *grow_zeroed(size_t n, size_t size)
{
	void *at = calloc(n ? n : 1, size);

	if (!at)
		memory_exhausted();
	return at;
}

#endif
