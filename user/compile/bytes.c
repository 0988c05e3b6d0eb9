// SPDX-License-Identifier: GPL-2.0-only
#include "compile/compiler.h"

#include <sodium.h>

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

struct policy_key bytes_key(const bytes_t *bytes)
{
	struct policy_key key;

	_Static_assert(sizeof(key) == crypto_generichash_BYTES_MIN,
		       "a key is a short BLAKE2b hash");
	crypto_generichash((unsigned char *)&key, sizeof(key), bytes->at, bytes->n, NULL, 0);
	return key;
}

void policy_name_put(bytes_t *bytes, const struct policy_object *policy)
{
	if (policy->ns_name) {
		bytes_put(bytes, policy->ns_name, strlen(policy->ns_name));
		bytes_put(bytes, "/", 1);
	}
	bytes_put(bytes, policy->name, strlen(policy->name) + 1);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void numbers_sort(numbers_t *numbers)
{
	size_t n = 0;

	for (size_t i = 1; i < numbers->n; i++) {
		if (numbers->at[i] > numbers->at[i - 1])
			continue;
		array_sort(numbers, compare_numbers);
		break;
	}
	for (size_t i = 0; i < numbers->n; i++)
		if (!i || numbers->at[i] != numbers->at[n - 1])
			numbers->at[n++] = numbers->at[i];
	numbers->n = n;
}
