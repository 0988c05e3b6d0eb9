// SPDX-License-Identifier: GPL-2.0-only
/* Random clusters printed in several equivalent spellings must read as the same cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "selftests/lib/generate.h"
#include "selftests/lib/read.h"

#define SEEDS 300
#define STYLES 4

static void (*const printers[])(FILE *to, const struct cluster *cluster, uint64_t style) = {
	[READ_YAML] = generate_yaml,
	[READ_JSON] = generate_json,
	[READ_INI] = generate_ini,
};

static char *read_printed(const struct cluster *cluster, enum read_format format, uint64_t seed,
			  uint64_t style)
{
	struct read_result result;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	printers[format](to, cluster, style);
	fclose(to);
	read_text(format, text, size, &result);
	if (result.err)
		fail_msg("seed %lu, style %lu: %s\n%s", (unsigned long)seed, (unsigned long)style,
			 result.messages, text);
	free(text);
	free(result.messages);
	return result.dump;
}

/* Compares the @format in all styles with @expected. */
static void compare(const struct cluster *cluster, enum read_format format, uint64_t seed,
		    const char *expected)
{
	for (uint64_t style = 1; style <= STYLES; style++) {
		char *other = read_printed(cluster, format, seed, seed * STYLES + style);

		if (strcmp(other, expected))
			fail_msg("seed %lu, style %lu reads as\n%s, not as\n%s",
				 (unsigned long)seed, (unsigned long)style, other, expected);
		free(other);
	}
}

static void same_cluster(void **state)
{
	int in_ini = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct cluster cluster;
		char *expected;

		cluster_init(&cluster);
		generate_cluster(&cluster, seed);
		if (seed % 2)
			generate_services(&cluster, seed);
		expected = read_printed(&cluster, READ_YAML, seed, 0);
		compare(&cluster, READ_YAML, seed, expected);
		compare(&cluster, READ_JSON, seed, expected);
		/* INI has no word for a peer or port that says nothing, nor for all of a Service.
		 */
		if (!strstr(expected, " unknown") &&
		    (seed % 2 == 0 || generate_fits_ini(&cluster))) {
			compare(&cluster, READ_INI, seed, expected);
			in_ini++;
		}
		free(expected);
		cluster_free(&cluster);
	}
	assert_in_range(in_ini, SEEDS / 10, SEEDS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(same_cluster)};

	return cmocka_run_group_tests_name("spellings", tests, NULL, NULL);
}
