// SPDX-License-Identifier: GPL-2.0-only
#include "model/arrays.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

void *check_memory(void *memory)
{
	if (!memory)
		memory_exhausted();
	return memory;
}

/* An array has room for a power of two of elements, so @n alone says when it is full. */
void *array_grow(void **array, size_t *n, size_t size)
{
	void *element;

	if (!(*n & (*n - 1)))
		*array = check_memory(reallocarray(*array, *n ? *n * 2 : 1, size));
	element = (char *)*array + (*n)++ * size;
	return memset(element, 0, size);
}

void array_order(void *array, size_t n, size_t size, int (*order)(const void *, const void *))
{
	if (n)
		qsort(array, n, size, order);
}

int where_order(const struct where *a, const struct where *b)
{
	int order = strcmp(a->file ? a->file : "", b->file ? b->file : "");

	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

void given_twice(struct diag *diag, const struct where *first, const struct where *second,
		 const char *what, const char *ns, const char *name)
{
	diag_error(diag, second, NULL, "%s %s%s%s is given twice, first at %s:%u", what,
		   ns ? ns : "", ns ? "/" : "", name, first->file ? first->file : "?", first->line);
}
