// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every case in selftests/cases/: a text as a reader gets it, and what it must make of it: the
 * cluster, the compiled Services, or a message with a line.
 *
 * Usage: unit_cases [FILE...]    runs from the top of the tree
 */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "selftests/lib/case_file.h"

static void check_refusal(const char *message, const char *messages)
{
	const char *newline = strchr(messages, '\n');

	if (strncmp(messages, message, strlen(message)))
		fail_msg("expected \"%s\", got \"%.400s\"", message, messages);
	assert_non_null(newline);
	if (newline[1])
		fail_msg("expected one message, got \"%.400s\"", messages);
}

static void run_case(void **state)
{
	const struct input_case *it = *state;
	struct read_result result;

	if (it->services)
		read_services(it->format, it->text, it->size, &result);
	else
		read_text(it->format, it->text, it->size, &result);
	if (!it->dump)
		assert_int_equal(result.err, -EINVAL);
	else if (result.err)
		fail_msg("refused: %.400s", result.messages);
	if (it->message)
		check_refusal(it->message, result.messages);
	else
		assert_string_equal(result.messages, "");
	if (it->dump)
		assert_string_equal(result.dump, it->dump);
	read_result_free(&result);
}

static int run_file(const char *path)
{
	struct case_file file = case_file_read(path);
	struct CMUnitTest *tests = calloc(file.n, sizeof(*tests));
	int failed;

	if (!tests)
		abort();
	for (size_t i = 0; i < file.n; i++) {
		tests[i].name = file.cases[i].name;
		tests[i].test_func = run_case;
		tests[i].initial_state = &file.cases[i];
	}
	failed = _cmocka_run_group_tests(path, tests, file.n, NULL, NULL);
	free(tests);
	case_file_free(&file);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	glob_t found;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			failed += run_file(argv[i]);
		return failed > 0;
	}
	if (glob("selftests/cases/*.case", 0, NULL, &found)) {
		fputs("unit_cases: selftests/cases: there is no case; run this from the top of the "
		      "tree\n",
		      stderr);
		return 1;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		failed += run_file(found.gl_pathv[i]);
	globfree(&found);
	return failed > 0;
}
