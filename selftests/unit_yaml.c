// SPDX-License-Identifier: GPL-2.0-only
/* YAML and JSON as text: what is read, what is refused, and the lines of messages. */
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
#define AB "namespace x a=b " NAME
#define NOT_YAML "not YAML that can be read: "

static const struct read_row yaml[] = {
	{"CRLF", "apiVersion: v1\r\nkind: Namespace\r\nmetadata:\r\n  name: x\r\n", NULL, X},
	{"byte order mark", "\xef\xbb\xbf" NS, NULL, X},
	{"directive and end of document", "%YAML 1.1\n---\n" NS "...\n---\n", NULL, X},
	{"flow style, quotes, comment",
	 "{'apiVersion': \"v1\", kind: Namespace, # here\n \"metadata\": {name: 'x', labels: {a: "
	 "\"\\x62\"}}}\n",
	 NULL, AB},
	{"block scalar", NS "  labels:\n    a: >-\n      b\n", NULL, AB},
	{"alias", NS "  annotations: &a {a: b}\n  labels: *a\n", NULL, AB},
	{"alias of a scalar", NS "  annotations: {x: &a b}\n  labels: {a: *a}\n", NULL, AB},
	{"alias in a list", NS "  x: [&a {a: b}, *a]\n  labels: *a\n", NULL, AB},
	{"string tag", NS "  labels: {a: !!str b}\n", NULL, AB},
	{"string tag on a number", NS "  labels: {a: !!str 1}\n", NULL, "namespace x a=1 " NAME},
	{"words that look like numbers, and are none",
	 NS "  labels: {a: 1a, b: 0x, c: 1.2.3, d: 1_a, e: 0b2, f: 1e, g: 2026-11-21}\n", NULL,
	 "namespace x a=1a b=0x c=1.2.3 d=1_a e=0b2 f=1e g=2026-11-21 " NAME},
	{"number 1.0", NS "  labels: {a: 1.0}\n", "t:5: metadata.labels.a: must be a string", NULL},
	{"number 1e3", NS "  labels: {a: 1e3}\n", "t:5: metadata.labels.a: must be a string", NULL},
	{"number 0x1F", NS "  labels: {a: 0x1F}\n", "t:5: metadata.labels.a: must be a string",
	 NULL},
	{"number 0b11", NS "  labels: {a: 0b11}\n", "t:5: metadata.labels.a: must be a string",
	 NULL},
	{"number 1_000", NS "  labels: {a: 1_000}\n", "t:5: metadata.labels.a: must be a string",
	 NULL},
	{"number .5", NS "  labels: {a: .5}\n", "t:5: metadata.labels.a: must be a string", NULL},
	{"number .inf", NS "  labels: {a: .inf}\n", "t:5: metadata.labels.a: must be a string",
	 NULL},
	{"a number as a key", NS "  labels: {1: a}\n", "t:5: metadata.labels.1: the label key must",
	 NULL},
	{"a number as a key, quoted", NS "  labels: {'1': a}\n", NULL, "namespace x 1=a " NAME},
	{"tab indents", "apiVersion: v1\nkind: Namespace\nmetadata:\n\tname: x\n",
	 "t:4: " NOT_YAML "a tab in the indentation", NULL},
	{"tab after spaces indents", "a:\n  b: 1\n  \tc: 2\n",
	 "t:3: " NOT_YAML "a tab in the indentation", NULL},
	{"tab between a key and its value",
	 "apiVersion:\tv1\nkind: Namespace\nmetadata: {name: x}\n", NULL, X},
	{"key twice", NS "  labels:\n    a: b\n    c: d\n    a: e\n",
	 "t:8: metadata.labels.a: the key is given twice", NULL},
	{"key twice, where anything may stand", NS "  x: {y: [{a: 1, a: 2}]}\n",
	 "t:5: metadata.x.y[0].a: the key is given twice", NULL},
	{"key twice, quoted", NS "kind: Pod\n", "t:5: kind: the key is given twice", NULL},
	{"merge key", NS "  a: &a {b: c}\n  labels: {<<: *a}\n",
	 "t:6: " NOT_YAML "merge keys (<<) are not read", NULL},
	{"key that is a map", NS "  ? {a: b}\n  : c\n", "t:5: " NOT_YAML "a key that is no scalar",
	 NULL},
	{"alias of an unknown anchor", NS "  labels: *a\n",
	 "t:5: " NOT_YAML "an alias of an unknown anchor", NULL},
	{"alias of what it stands in", NS "  labels: &a {b: *a}\n",
	 "t:5: " NOT_YAML "an alias of an unknown anchor", NULL},
	{"alias of another document's anchor", NS "  labels: &a {a: b}\n---\n" NS "  labels: *a\n",
	 "t:11: " NOT_YAML "an alias of an unknown anchor", NULL},
	{"alias bomb",
	 "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
	 "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
	 "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
	 "t:5: " NOT_YAML "aliases stand for more than 100000 nodes", NULL},
	{"binary tag", NS "  labels: {a: !!binary YQ==}\n", "t:5: " NOT_YAML "a tag that", NULL},
	{"tag of one's own", NS "  labels: !x {}\n", "t:5: " NOT_YAML "a tag that", NULL},
	{"NUL by escape", NS "  labels: {a: \"\\0\"}\n",
	 "t:5: " NOT_YAML "a string holds a NUL character", NULL},
	{"control character", NS "  labels: {a: \x01}\n",
	 "t:5: " NOT_YAML "control characters are not allowed", NULL},
	{"not UTF-8", NS "# \xff\n", "t:5: this line is not UTF-8", NULL},
	{"overlong UTF-8", NS "# \xc0\x80\n", "t:5: this line is not UTF-8", NULL},
	{"surrogate in UTF-8", NS "# \xed\xa0\x80\n", "t:5: this line is not UTF-8", NULL},
	{"UTF-8 cut short", NS "# \xe2\x82", "t:5: this line is not UTF-8", NULL},
	{"UTF-16",
	 "\xff\xfe"
	 "a",
	 "t:1: this line is not UTF-8", NULL},
	{"UTF-8 well formed", NS "# \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n", NULL, X},
	{"bracket that is not closed", NS "  labels: {a: b\n", "t:6: " NOT_YAML, NULL},
	{"the KEP's expressions with a semicolon",
	 "apiVersion: policy.networking.k8s.io/v1alpha1\nkind: AdminNetworkPolicy\n"
	 "metadata: {name: p}\nspec:\n  priority: 50\n  subject:\n    namespaces:\n"
	 "      matchExpressions: {key: \"tenant\"; operator: Exists}\n",
	 "t:8: " NOT_YAML, NULL},
	{"what follows an error is not read", "a: [\n---\n" NS, "t:2: " NOT_YAML, NULL},
};

#define JNS "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"x\""

#define JKIND "\"apiVersion\": \"v1\", \"kind\": \"List\""
#define JPOD "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}}"

static const struct read_row json[] = {
	{"JSON", JNS "}}", NULL, X},
	{"JSON with tabs and newlines",
	 "\t{\n\t\"apiVersion\"\t:\t\"v1\",\n\t\"kind\":\"Namespace\",\n"
	 "\t\"metadata\":{\"name\":\"x\"}\r\n}\t\n",
	 NULL, X},
	{"JSON: byte order mark", "\xef\xbb\xbf" JNS "}}", NULL, X},
	{"JSON: several documents", JNS "}}\n{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}",
	 "t:2: note: Secret (v1) is skipped", X},
	{"JSON: nothing", " \n\t", "t: note: there are no objects in it", ""},
	{"JSON: escapes in a key and a value", JNS ", \"labels\": {\"\\u0061\": \"\\u0062\"}}}",
	 NULL, AB},
	{"JSON: every escape",
	 JNS ", \"x\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20ac\\ud83d\\ude00\\uD83D\\uDE00\"}}",
	 NULL, X},
	{"JSON: a surrogate pair is one character",
	 JNS ", \"labels\": {\"a\": \"\\ud83d\\ude00\"}}}",
	 "t:1: metadata.labels.a: \"\xf0\x9f\x98\x80\" is no label value", NULL},
	{"JSON: values",
	 JNS ", \"x\": [null, true, false, 0, -1, 1.5, 1e9, 1E-9, -0.0e+1, [], {}]}}", NULL, X},
	{"JSON: null is missing", JNS ", \"labels\": null}}", NULL, X},
	{"JSON: a number as a label", JNS ",\n\"labels\": {\"a\": 1}}}",
	 "t:2: metadata.labels.a: must be a string; quote it", NULL},
	{"JSON: key twice", JNS ",\n\"name\": \"y\"}}",
	 "t:2: metadata.name: the key is given twice", NULL},
	{"JSON: half of a surrogate pair", JNS ",\n\"x\": \"\\ud83d\"}}",
	 "t:2: not JSON: half of a surrogate pair", NULL},
	{"JSON: half of a surrogate pair and another", JNS ",\n\"x\": \"\\ud83d\\u0061\"}}",
	 "t:2: not JSON: half of a surrogate pair", NULL},
	{"JSON: the second half alone", JNS ",\n\"x\": \"\\ude00\"}}",
	 "t:2: not JSON: half of a surrogate pair", NULL},
	{"JSON: NUL by escape", JNS ",\n\"x\": \"\\u0000\"}}",
	 "t:2: not JSON: a string holds a NUL character", NULL},
	{"JSON: a bad escape", JNS ",\n\"x\": \"\\x41\"}}", "t:2: not JSON: an escape that JSON",
	 NULL},
	{"JSON: a bad \\u escape", JNS ",\n\"x\": \"\\u00g0\"}}", "t:2: not JSON: a \\u escape",
	 NULL},
	{"JSON: a \\u escape that is cut short", JNS ",\n\"x\": \"\\u00",
	 "t:2: not JSON: a \\u escape", NULL},
	{"JSON: a newline in a string", JNS ",\n\"x\": \"a\nb\"}}",
	 "t:2: not JSON: a control character in a string", NULL},
	{"JSON: a string without its end", JNS ",\n\"x\": \"a", "t:2: not JSON: a string without",
	 NULL},
	{"JSON: cut short", JNS ",\n\"x\":", "t:2: not JSON: it ends too early", NULL},
	{"JSON: an object without its end", JNS "}\n", "t:2: not JSON: an object goes on", NULL},
	{"JSON: a comma too many", JNS ",\n}}", "t:2: not JSON: a key that is no string", NULL},
	{"JSON: a comma too many in a list", JNS ",\n\"x\": [1,]}}", "t:2: not JSON: no value",
	 NULL},
	{"JSON: a comma too few", JNS ",\n\"x\": [1 2]}}", "t:2: not JSON: a list goes on", NULL},
	{"JSON: a colon too few", JNS ",\n\"x\" 1}}", "t:2: not JSON: a key without a colon", NULL},
	{"JSON: a leading zero", JNS ",\n\"x\": 01}}", "t:2: not JSON: ", NULL},
	{"JSON: a number that ends in a point", JNS ",\n\"x\": 1.}}", "t:2: not JSON: ", NULL},
	{"JSON: a plus sign", JNS ",\n\"x\": +1}}", "t:2: not JSON: ", NULL},
	{"JSON: a comment", JNS "}} // here\n", "t:1: not JSON: ", NULL},
	{"JSON: single quotes", "{'kind': 1}", "t:1: not JSON: a key that is no string", NULL},
	{"JSON: a bare word", "{\"a\": yes}", "t:1: not JSON: no value", NULL},
	{"JSON: NaN", "{\"a\": NaN}", "t:1: not JSON: no value", NULL},
	{"JSON: not an object", "[]", "t:1: must be a map", NULL},
	{"JSON: not UTF-8", "\n\"\xff\"", "t:2: this line is not UTF-8", NULL},
	/* A list's items are parsed one by one. */
	{"JSON: a list", "{" JKIND ", \"items\": [\n" JNS "}} ,\n" JPOD "]}", NULL,
	 "namespace default undeclared kubernetes.io/metadata.name=default\n" X
	 "expected default/p\n"},
	{"JSON: a list that says last that it is one", "{\"items\": [" JNS "}}], " JKIND "}", NULL,
	 X},
	{"JSON: an empty list", "{" JKIND ", \"items\": [ ]}", NULL, ""},
	{"JSON: lists in a list", "{" JKIND ", \"items\": [{" JKIND ", \"items\": [" JNS "}}]}]}",
	 NULL, X},
	{"JSON: brackets and quotes in an item's strings",
	 "{" JKIND ", \"items\": [" JNS ", \"x\": \"]}\\\"{[\\\\\"}}]}", NULL, X},
	{"JSON: lines in a list",
	 "{" JKIND ", \"items\": [\n" JNS "}},\n" JPOD ",\n" JNS "\n,\"labels\": 1}}]}",
	 "t:5: metadata.labels: must be a map", NULL},
	{"JSON: a line behind a list", "{" JKIND ", \"items\": [\n" JNS "\n}}], \"x\": }",
	 "t:3: not JSON: no value", NULL},
	{"JSON: key twice in a list",
	 "{" JKIND ", \"items\": [" JPOD ",\n" JNS ", \"name\": \"y\"}}]}",
	 "t:2: items[1].metadata.name: the key is given twice", NULL},
	{"JSON: an item with a comma too many", "{" JKIND ", \"items\": [\n" JNS ",}}]}",
	 "t:2: not JSON: a key that is no string", NULL},
	{"JSON: an item whose brackets do not match", "{" JKIND ", \"items\": [\n" JNS "}]]}",
	 "t:2: not JSON: an object goes on", NULL},
	{"JSON: an item that goes on", "{" JKIND ", \"items\": [\n{\"a\": 1],\n{}]}",
	 "t:2: not JSON: an object goes on", NULL},
	{"JSON: an item that is cut short", "{" JKIND ", \"items\": [\n" JNS "\n",
	 "t:3: not JSON: it ends too early", NULL},
	{"JSON: a string in an item that is cut short", "{" JKIND ", \"items\": [\n" JNS ", \"x\\",
	 "t:2: not JSON: it ends too early", NULL},
	{"JSON: an item that is no object", "{" JKIND ", \"items\": [1]}",
	 "t:1: items[0]: must be a map", NULL},
	{"JSON: items of what is no list", JNS "}, \"items\": [{}]}", NULL, X},
	{"JSON: items of what is no list, and no JSON", JNS "},\n\"items\": [{]}]}",
	 "t:2: not JSON: ", NULL},
};

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
	assert_string_equal(result.cluster, cluster);
	read_result_free(&result);
}

static void nesting(void **state)
{
	(void)state;
	/* Three of the 200 levels are the document, metadata and x. */
	accepted(read_repeated(READ_YAML, NS "  x: ", "[", 196,
			       ""
			       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			       "\n"),
		 X);
	refused(read_repeated(READ_YAML, NS "  x: ", "[", 199, ""),
		"t:5: " NOT_YAML "nested more than 200 deep");
	refused(read_repeated(READ_YAML, NS "  x: ", "{a: ", 100000, ""),
		"t:5: " NOT_YAML "nested more than 200 deep");
	refused(read_repeated(READ_JSON, "{\n\"a\": ", "[", 100000, ""),
		"t:2: not JSON: nested more than 200 deep");
	/* Four levels are the list, its items, the object and metadata. */
	refused(read_repeated(READ_JSON, "{" JKIND ", \"items\": [\n" JNS ", \"x\": ", "[", 197,
			      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
			      "}}]}"),
		"t:2: not JSON: nested more than 200 deep");
}

static void long_line(void **state)
{
	(void)state;
	accepted(read_repeated(READ_YAML, NS "  x: ", "abcdefghij", 100000, "\n"), X);
	accepted(read_repeated(READ_YAML, NS "  x: [", "{a: b, c: [d]},", 70000, "]\n"), X);
	accepted(read_repeated(READ_JSON, JNS ", \"x\": \"", "abcdefghij", 100000, "\"}}"), X);
	refused(read_repeated(READ_YAML, NS "  labels: {a: ", "abcdefghij", 100000, "}\n"),
		"t:5: metadata.labels.a: \"abcdefghij");
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

static void many_anchors(void **state)
{
	(void)state;
	accepted(read_repeated(READ_YAML, NS "  x:\n", "  - &a b\n", 1000, ""), X);
	refused(read_repeated(READ_YAML, NS "  x:\n", "  - &a b\n", 1001, ""),
		"t:1006: " NOT_YAML "more than 1000 anchors");
}

static void embedded_nul(void **state)
{
	static const char text[] = NS "# \0\n";
	struct read_result result;

	(void)state;
	for (int format = READ_YAML; format <= READ_INI; format++) {
		read_text(format, text, sizeof(text) - 1, &result);
		refused(result, "t:5: this line holds a NUL byte");
	}
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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nesting),	cmocka_unit_test(long_line),
	cmocka_unit_test(many_keys),	cmocka_unit_test(many_anchors),
	cmocka_unit_test(embedded_nul), cmocka_unit_test(many_errors),
};

int main(void)
{
	static const struct read_table tables[] = {
		READ_TABLE(READ_YAML, NULL, yaml),
		READ_TABLE(READ_JSON, NULL, json),
	};
	int failed = read_tables_run("yaml", tables, sizeof(tables) / sizeof(*tables));

	return failed + cmocka_run_group_tests_name("yaml limits", tests, NULL, NULL);
}
