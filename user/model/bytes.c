// SPDX-License-Identifier: GPL-2.0-only
#include "model/bytes.h"

void bytes_put(bytes_t *bytes, const void *what, size_t size)
{
	array_reserve(bytes, size);
	if (size)
		memcpy(bytes->at + bytes->n, what, size);
	bytes->n += size;
}

void bytes_number(bytes_t *bytes, uint32_t number)
{
	bytes_put(bytes, &number, sizeof(number));
}

void bytes_string(bytes_t *bytes, const char *string)
{
	size_t size = string ? strlen(string) : 0;

	bytes_number(bytes, string ? size + 1 : 0);
	bytes_put(bytes, string, size);
}
