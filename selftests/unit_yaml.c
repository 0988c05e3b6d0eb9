// SPDX-License-Identifier: GPL-2.0-only
/* YAML texts of 100,000 keys and of 100 errors. selftests/cases/yaml.case has what YAML and JSON
 * say. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "selftests/lib/read.h"

#define NS "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n"
#define NAME "kubernetes.io/metadata.name=x\n"
#define X "namespace x " NAME

/* @before, @n times @middle, @after. */
static struct read_result read_repeated(enum read_format format, const char *before,
					const char *middle, int n, const char *after)
{
	struct read_result result;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fputs(before, to);
	for (int i = 0; i < n; i++)
		fputs(middle, to);
	fputs(after, to);
	fclose(to);
	read_text(format, text, size, &result);
	free(text);
	return result;
}

static void refused(struct read_result result, const char *message)
{
	assert_int_equal(result.err, -EINVAL);
	if (strncmp(result.messages, message, strlen(message)))
		fail_msg("expected \"%s\", got \"%.200s\"", message, result.messages);
	read_result_free(&result);
}

static void accepted(struct read_result result, const char *cluster)
{
	if (result.err)
		fail_msg("refused: %.200s", result.messages);
	assert_string_equal(result.dump, cluster);
	read_result_free(&result);
}

static void many_keys(void **state)
{
	char *text = NULL;
	struct read_result result;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	fputs(NS "  annotations:\n", to);
	for (int i = 0; i < 100000; i++)
		fprintf(to, "    k%d: v\n", i);
	fputs("    k7: v\n", to);
	fclose(to);
	read_text(READ_YAML, text, size, &result);
	refused(result, "t:100006: metadata.annotations.k7: the key is given twice");
	read_text(READ_YAML, text, size - strlen("    k7: v\n"), &result);
	accepted(result, X);
	free(text);
}

/* All errors are printed up to a limit, each with its line, then a note that there are more. */
static void many_errors(void **state)
{
	struct read_result result = read_repeated(READ_YAML, NS, "---\nkind: Namespace\n", 100, "");
	int lines = 0;

	(void)state;
	for (const char *at = result.messages; *at; at++)
		lines += *at == '\n';
	assert_non_null(strstr(result.messages, "t:6: apiVersion: is missing\n"));
	assert_non_null(strstr(result.messages, "t:8: apiVersion: is missing\n"));
	assert_int_equal(lines, DIAG_MAX + 1);
	read_result_free(&result);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_keys),
		cmocka_unit_test(many_errors),
	};

	return cmocka_run_group_tests_name("yaml limits", tests, NULL, NULL);
}
