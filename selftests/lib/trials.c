// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/trials.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PER_SEED 10000000ull /* sequences: two values of BULKHEAD_SEED share none */
#define SMALL_PART 16

static uint64_t number(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

uint64_t trials_run(const struct trials *trials)
{
	uint64_t usual = number("BULKHEAD_FULL", 0)    ? trials->full
			 : number("BULKHEAD_SMALL", 0) ? trials->usual / SMALL_PART
						       : trials->usual;
	uint64_t n = number("SEQUENCES", getenv("SEED") ? 1 : usual);
	uint64_t first = number("SEED", number("BULKHEAD_SEED", 1) * PER_SEED), i = 0;

	printf("# from SEED=%" PRIu64 " on\n", first);
	while (i < n && trials->run(first + i, trials->data))
		i++;
	if (i < n)
		i++;
	return i;
}

void trials_print_policies(int which, void (*print)(FILE *to, const void *policies),
			   const void *policies)
{
	char *text, *line, *rest;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	print(to, policies);
	fclose(to);
	printf("# policy %d:\n", which);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		printf("#   %s\n", line);
	free(text);
}
