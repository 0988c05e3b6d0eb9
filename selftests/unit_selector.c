// SPDX-License-Identifier: GPL-2.0-only
/* Selectors in `kubectl -l` syntax, and what they match. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input/input.h"

/* The label sets to match, sorted by key. */
static const struct labels worlds[] = {
	{NULL, 0},
	{(struct label[]){{"a", ""}}, 1},
	{(struct label[]){{"a", "x"}}, 1},
	{(struct label[]){{"a", "y"}, {"b", "x"}}, 2},
	{(struct label[]){{"a", "x"}, {"b", "y"}, {"e.io/c", "z"}}, 3},
};

struct row {
	const char *text;
	const char *matches; /* a digit for each world: 1 where it is matched; NULL: refused */
	const char *message; /* how the refusal begins */
};

static const struct row rows[] = {
	{"", "11111", NULL},
	{"  ", "11111", NULL},
	{"a", "01111", NULL},
	{"!a", "10000", NULL},
	{"! a", "10000", NULL},
	{"a=", "01000", NULL},
	{"a=x", "00101", NULL},
	{"a==x", "00101", NULL},
	{" a = x ", "00101", NULL},
	{"a!=x", "11010", NULL},
	{"a != x", "11010", NULL},
	{"a!=", "10111", NULL},
	{"a in (x)", "00101", NULL},
	{"a in (x,y)", "00111", NULL},
	{"a in(y , x)", "00111", NULL},
	{"a in (x,)", "01101", NULL},
	{"a notin (x)", "11010", NULL},
	{"a notin (x, y)", "11000", NULL},
	{"a,b", "00011", NULL},
	{"a, !b", "01100", NULL},
	{"a=x,a=x", "00101", NULL},
	{"a=x,a=y", "00000", NULL},
	{"a=x,b=y,e.io/c", "00001", NULL},
	{"e.io/c notin (z),a", "01110", NULL},
	{",", NULL, "expected a word"},
	{"a,", NULL, "expected a word at the end"},
	{",a", NULL, "expected a word"},
	{"a,,b", NULL, "expected a word"},
	{"=x", NULL, "expected a word"},
	{"!", NULL, "expected a word"},
	{"!a=x", NULL, "does not go on"},
	{"a=x y", NULL, "does not go on"},
	{"a b", NULL, "does not go on"},
	{"a===x", NULL, "does not go on"},
	{"a!x", NULL, "expected \"=\""},
	{"a>1", NULL, "does not go on"},
	{"a in x", NULL, "does not go on"},
	{"a notin x", NULL, "expected \"(\""},
	{"a in (x", NULL, "expected \")\""},
	{"a in (x y)", NULL, "expected \")\""},
	{"a in ()", NULL, "values is missing"},
	{"a)", NULL, "does not go on"},
	{"(a)", NULL, "expected a word"},
	{"-a", NULL, "\"-a\" is no label key"},
	{"a/", NULL, "\"a/\" is no label key"},
	{"/a", NULL, "\"/a\" is no label key"},
	{"a=-", NULL, "\"-\" is no label value"},
	{"a=b/c", NULL, "\"b/c\" is no label value"},
	{"a in (x, *)", NULL, "\"*\" is no label value"},
};

static int parse(struct cluster *cluster, const char *text, char **messages,
		 struct selector *selector)
{
	struct where where = {"t", 1};
	struct diag diag = {0};
	size_t size;
	int err;

	diag.to = open_memstream(messages, &size);
	assert_non_null(diag.to);
	err = input_parse_selector(cluster, text, &where, &diag, selector);
	fclose(diag.to);
	return err;
}

static void run_row(void **state)
{
	const struct row *row = *state;
	struct selector selector;
	struct cluster cluster;
	char *messages, matches[sizeof(worlds) / sizeof(*worlds) + 1] = "", expected[100];
	int err;

	cluster_init(&cluster);
	err = parse(&cluster, row->text, &messages, &selector);
	if (row->matches) {
		assert_string_equal(messages, "");
		assert_int_equal(err, 0);
		for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++)
			matches[i] = selector_matches(&selector, &worlds[i]) ? '1' : '0';
		assert_string_equal(matches, row->matches);
	} else {
		assert_int_equal(err, -EINVAL);
		snprintf(expected, sizeof(expected), "t:1: %s", row->message);
		if (strncmp(messages, expected, strlen(expected)))
			fail_msg("expected \"%s\", got \"%s\"", expected, messages);
	}
	free(messages);
	cluster_free(&cluster);
}

/* Equivalent selectors have one canonical form, which the compiler compares. */
static void canonical_form(void **state)
{
	static const char *const same[] = {"b in (y,x),a=z,!c", "!c,a==z,b in (x,y,x)",
					   "a in (z), b in (x, y), !c, a=z"};
	struct selector first, other;
	struct cluster cluster;
	char *messages;

	(void)state;
	cluster_init(&cluster);
	assert_int_equal(parse(&cluster, same[0], &messages, &first), 0);
	free(messages);
	assert_int_equal(first.n, 3);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(parse(&cluster, same[i], &messages, &other), 0);
		free(messages);
		assert_int_equal(other.n, 3);
		for (size_t j = 0; j < 3; j++) {
			assert_ptr_equal(other.at[j].key, first.at[j].key);
			assert_int_equal(other.at[j].op, first.at[j].op);
			assert_int_equal(other.at[j].n_values, first.at[j].n_values);
			for (size_t k = 0; k < first.at[j].n_values; k++)
				assert_ptr_equal(other.at[j].values[k], first.at[j].values[k]);
		}
	}
	cluster_free(&cluster);
}

int main(void)
{
	enum { N = sizeof(rows) / sizeof(*rows) };
	static char names[N][60];
	static struct CMUnitTest tests[N + 1];

	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "\"%s\"", rows[i].text);
		tests[i] = (struct CMUnitTest){names[i], run_row, NULL, NULL, (void *)&rows[i]};
	}
	tests[N] = (struct CMUnitTest)cmocka_unit_test(canonical_form);
	return cmocka_run_group_tests_name("selector", tests, NULL, NULL);
}
