// SPDX-License-Identifier: GPL-2.0-only
/*
 * The INI form: lines and values of any length, and agreement with YAML. selftests/cases/ini.case
 * has what it says. Runs from the top of the tree.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "selftests/lib/read.h"

/* A node's section with a line of @length bytes, and after it one of the length @after. */
static struct read_result read_line(int length, int after)
{
	char text[600];
	struct read_result result;
	int n = snprintf(text, sizeof(text),
			 "[node n]\nip = 10.0.0.1 ;%0*d\n[namespace x]\n;%0*d\n", length - 15, 7,
			 after - 1, 7);

	read_text(READ_INI, text, n, &result);
	return result;
}

static void line_length(void **state)
{
	static const char all[] = "namespace x kubernetes.io/metadata.name=x\nnode n 10.0.0.1\n";
	struct read_result result;

	(void)state;
	for (int length = 190; length < 200; length++) {
		result = read_line(length, 389 - length);
		if (result.err)
			fail_msg("%d bytes: %s", length, result.messages);
		assert_string_equal(result.dump, all);
		read_result_free(&result);
	}
	for (int length = 200; length < 203; length++) {
		result = read_line(length, 10);
		assert_int_equal(result.err, -EINVAL);
		assert_memory_equal(result.messages, "t:2: this line has 200 bytes or more", 36);
		read_result_free(&result);
		result = read_line(20, length);
		assert_int_equal(result.err, -EINVAL);
		assert_memory_equal(result.messages, "t:4: this line has 200 bytes or more", 36);
		read_result_free(&result);
	}
}

static void long_value(void **state)
{
	struct read_result result;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	fputs("[node n]\nip = 10.0.0.0\n", to);
	for (int i = 1; i < 100000; i++)
		fprintf(to, " , 10.%d.%d.%d\n", i >> 16, i >> 8 & 255, i & 255);
	fputs(" , 10.0.0.256\n", to);
	fclose(to);
	read_text(READ_INI, text, size, &result);
	free(text);
	assert_int_equal(result.err, -EINVAL);
	assert_string_equal(result.messages,
			    "t:100002: ip: \"10.0.0.256\" is no IPv4 or IPv6 address\n");
	read_result_free(&result);
}

static void read_file(enum read_format format, const char *path, struct read_result *result)
{
	FILE *from = fopen(path, "r");
	char text[8192];
	size_t size;

	assert_non_null(from);
	size = fread(text, 1, sizeof(text), from);
	fclose(from);
	assert_in_range(size, 1, sizeof(text) - 1);
	read_text(format, text, size, result);
}

/* In another order, too. */
static void yaml_says_the_same(void **state)
{
	struct read_result ini, yaml;

	(void)state;
	read_file(READ_INI, "selftests/cases/example.ini", &ini);
	read_file(READ_YAML, "selftests/cases/example.yaml", &yaml);
	assert_string_equal(ini.messages, "");
	assert_string_equal(yaml.messages, "");
	assert_non_null(ini.dump);
	assert_non_null(yaml.dump);
	assert_string_equal(ini.dump, yaml.dump);
	read_result_free(&ini);
	read_result_free(&yaml);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(line_length),
	cmocka_unit_test(long_value),
	cmocka_unit_test(yaml_says_the_same),
};

int main(void)
{
	return cmocka_run_group_tests_name("ini as a whole", tests, NULL, NULL);
}
