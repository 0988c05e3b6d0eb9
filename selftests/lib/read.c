// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input/input.h"
#include "selftests/lib/dump.h"
#include "selftests/lib/read.h"

void read_text(enum read_format format, const char *text, size_t size, struct read_result *result)
{
	int (*const parse[])(struct cluster *, const char *, size_t, const char *,
			     struct diag *) = {input_parse_yaml, input_parse_json, input_parse_ini};
	struct cluster cluster;
	struct diag diag = {0};
	size_t length;

	memset(result, 0, sizeof(*result));
	diag.to = open_memstream(&result->messages, &length);
	assert_non_null(diag.to);
	cluster_init(&cluster);
	result->err = parse[format](&cluster, text, size, "t", &diag);
	if (!result->err)
		result->err = cluster_finish(&cluster, &diag);
	fclose(diag.to);
	if (!result->err)
		result->cluster = dump_cluster(&cluster);
	cluster_free(&cluster);
}

void read_result_free(struct read_result *result)
{
	free(result->messages);
	free(result->cluster);
}

struct row_of_table {
	const struct read_table *table;
	const struct read_row *row;
};

static void check_refusal(const struct read_row *row, const struct read_result *result)
{
	const char *newline = strchr(result->messages, '\n');

	if (strncmp(result->messages, row->message, strlen(row->message)))
		fail_msg("expected \"%s\", got \"%s\"", row->message, result->messages);
	assert_non_null(newline);
	if (newline[1])
		fail_msg("expected one message, got \"%s\"", result->messages);
}

static void run_row(void **state)
{
	const struct row_of_table *it = *state;
	const struct read_row *row = it->row;
	const char *before = it->table->before ? it->table->before : "";
	size_t size = strlen(before) + strlen(row->text);
	char *text = malloc(size + 1);
	struct read_result result;

	assert_non_null(text);
	snprintf(text, size + 1, "%s%s", before, row->text);
	read_text(it->table->format, text, size, &result);
	free(text);
	if (!row->cluster)
		assert_int_equal(result.err, -EINVAL);
	else if (result.err)
		fail_msg("refused: %s", result.messages);
	if (row->message)
		check_refusal(row, &result);
	else
		assert_string_equal(result.messages, "");
	if (row->cluster)
		assert_string_equal(result.cluster, row->cluster);
	read_result_free(&result);
}

int read_tables_run(const char *name, const struct read_table *tables, size_t n)
{
	struct CMUnitTest *tests;
	struct row_of_table *rows;
	size_t n_rows = 0, at = 0;
	int failed;

	for (size_t i = 0; i < n; i++)
		n_rows += tables[i].n;
	tests = calloc(n_rows, sizeof(*tests));
	rows = calloc(n_rows, sizeof(*rows));
	if (!tests || !rows)
		abort();
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < tables[i].n; j++, at++) {
			rows[at] = (struct row_of_table){&tables[i], &tables[i].rows[j]};
			tests[at].name = rows[at].row->name;
			tests[at].test_func = run_row;
			tests[at].initial_state = &rows[at];
		}
	}
	failed = _cmocka_run_group_tests(name, tests, n_rows, NULL, NULL);
	free(tests);
	free(rows);
	return failed;
}
