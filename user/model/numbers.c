// SPDX-License-Identifier: GPL-2.0-only
#include "model/numbers.h"

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
