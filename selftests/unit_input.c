// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files, folders and standard input: which are read, in which format and order, and the messages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/input.h"
#include "input/text.h"
#include "selftests/lib/dump.h"

#define NS(name) "apiVersion: v1\nkind: Namespace\nmetadata: {name: " name "}\n"
#define JSON(name) \
	"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}\n"
#define A "namespace a kubernetes.io/metadata.name=a\n"

static char folder[] = "/tmp/bulkhead-input-XXXXXX";

static void put(const char *name, const char *text)
{
	FILE *to = fopen(name, "w");

	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
}

/* Each test works in an empty folder of its own. */
static int enter(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") || system(command);
}

struct result {
	int err;
	char *messages, *cluster;
};

static struct result read_paths(const char *const *paths)
{
	struct result result = {0};
	struct diag diag = {0};
	struct cluster cluster;
	size_t size;

	diag.to = open_memstream(&result.messages, &size);
	assert_non_null(diag.to);
	cluster_init(&cluster);
	for (; *paths && !result.err; paths++)
		result.err = input_read(&cluster, *paths, &diag);
	if (!result.err)
		result.err = cluster_finish(&cluster, &diag);
	result.cluster = dump_cluster(&cluster);
	fclose(diag.to);
	cluster_free(&cluster);
	return result;
}

static void expect(const char *path, int err, const char *messages, const char *cluster)
{
	struct result result = read_paths((const char *const[]){path, NULL});

	assert_string_equal(result.messages, messages);
	assert_int_equal(result.err, err);
	if (!err)
		assert_string_equal(result.cluster, cluster);
	free(result.messages);
	free(result.cluster);
}

static void by_suffix(void **state)
{
	(void)state;
	put("a.yaml", NS("a"));
	expect("a.yaml", 0, "", A);
	put("a.yml", NS("a"));
	expect("a.yml", 0, "", A);
	put("a.json", JSON("a"));
	expect("a.json", 0, "", A);
	put("a.ini", "[namespace a]\n");
	expect("a.ini", 0, "", A);
	/* The file's suffix decides before its content. */
	put("b.json", NS("a"));
	expect("b.json", -EINVAL, "b.json:1: not JSON: no value where one belongs\n", NULL);
	put("b.yaml", "[namespace a]\n");
	expect("b.yaml", -EINVAL, "b.yaml:1: must be a map of fields\n", NULL);
	put("b.ini", NS("a"));
	expect("b.ini", -EINVAL,
	       "b.ini:1: apiVersion: stands before any section\n"
	       "b.ini:2: kind: stands before any section\n"
	       "b.ini:3: metadata: stands before any section\n",
	       NULL);
}

static void by_content(void **state)
{
	static const char *const texts[] = {
		NS("a"),
		"# comment\n\n---\n" NS("a"),
		"{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n",
		JSON("a"),
		" \n\t" JSON("a"),
		"\xef\xbb\xbf" JSON("a"),
		("{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Namespace\",\n\t\"metadata\": "
		 "{\"name\": \"a\"}}"),
		"[namespace a]\n",
		"# comment\n; comment\n[namespace a]\n",
		"\xef\xbb\xbf[namespace a]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		put("input", texts[i]);
		expect("input", 0, "", A);
	}
	put("input", "#");
	expect("input", 0, "input: note: there are no objects in it\n", "");
	put("input", "apiVersion: v1\nkind: List\nitems: []\n");
	expect("input", 0, "input: note: there are no objects in it\n", "");
	put("input", "{\"apiVersion\": \"v1\", \"kind\": \"PodList\"}\n");
	expect("input", 0, "input: note: there are no objects in it\n", "");
	put("input", "apiVersion: v1\nkind: SecretList\nitems: []\n");
	expect("input", 0, "input:1: note: SecretList (v1) is skipped\n", "");
}

static void standard_input(void **state)
{
	int saved = dup(STDIN_FILENO), fd;

	(void)state;
	put("input", "\n[namespace a]\nbad = 1\n");
	fd = open("input", O_RDONLY);
	assert_true(saved >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	expect("-", -EINVAL,
	       "stdin:3: bad: unknown key in this section; bulkhead.ini(5) lists its keys\n", NULL);
	put("input", NS("a"));
	assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
	expect("-", 0, "", A);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	close(fd);
}

/* Reads a pipe of @n bytes, of which @most are allowed. */
static int load_pipe(size_t n, size_t most)
{
	char bytes[10] = "", *text = NULL;
	size_t size = 0;
	int ends[2], error;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, n), n);
	close(ends[1]);
	error = text_load(ends[0], most, &text, &size);
	assert_int_equal(size, error ? 0 : n);
	close(ends[0]);
	free(text);
	return error;
}

static void too_large(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(load_pipe(9, 9), 0);
	assert_int_equal(load_pipe(10, 9), -EFBIG);
	put("input", "");
	assert_int_equal(truncate("input", TEXT_MAX + 1), 0);
	expect("input", -EFBIG, "input: has more than 4 GiB, the most of an input\n", NULL);
	fd = open("/dev/zero", O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(text_load(fd, 1 << 20, &(char *){NULL}, &(size_t){0}), -EFBIG);
	close(fd);
}

static void folders(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	expect("in", 0, "in: note: there is no .ini, .yaml, .yml or .json file in it\n", "");
	put("in/2.yaml", NS("a") "---\nkind: Secret\napiVersion: v1\n");
	put("in/1.json", JSON("b") "{\"apiVersion\":\"v1\",\"kind\":\"Event\"}");
	put("in/3.ini", "[namespace c]\n");
	put("in/.hidden.yaml", "[");
	put("in/README", "[");
	put("in/4.yaml.orig", "[");
	assert_int_equal(mkdir("in/folder.yaml", 0755), 0);
	put("in/folder.yaml/a.yaml", "[");
	expect("in", 0,
	       "in/1.json:2: note: Event (v1) is skipped\n"
	       "in/2.yaml:5: note: Secret (v1) is skipped\n"
	       "in/folder.yaml: note: a folder in a folder is not read; give it as an INPUT\n",
	       A "namespace b kubernetes.io/metadata.name=b\n"
		 "namespace c kubernetes.io/metadata.name=c\n");
	/* One bad file fails the input, and the other files' errors are printed as well. */
	put("in/0.yaml", "a");
	put("in/9.yaml", "b");
	expect("in", -EINVAL,
	       "in/0.yaml:1: must be a map of fields\n"
	       "in/1.json:2: note: Event (v1) is skipped\n"
	       "in/2.yaml:5: note: Secret (v1) is skipped\n"
	       "in/9.yaml:1: must be a map of fields\n"
	       "in/folder.yaml: note: a folder in a folder is not read; give it as an INPUT\n",
	       NULL);
	assert_int_equal(mkdir("outer", 0755), 0);
	assert_int_equal(mkdir("outer/inner", 0755), 0);
	assert_int_equal(symlink("nothing", "outer/link"), 0);
	expect("outer", 0,
	       "outer/inner: note: a folder in a folder is not read; give it as an INPUT\n"
	       "outer: note: there is no .ini, .yaml, .yml or .json file in it\n",
	       "");
}

static void several_inputs(void **state)
{
	struct result result;

	(void)state;
	put("a.yaml", NS("a"));
	put("b.ini", "[endpoint a/p]\nip = 10.0.0.1\n");
	result = read_paths((const char *const[]){"b.ini", "a.yaml", NULL});
	assert_string_equal(result.messages, "");
	assert_string_equal(result.cluster, A "endpoint a/p 10.0.0.1\n");
	free(result.messages);
	free(result.cluster);
	result = read_paths((const char *const[]){"a.yaml", "b.ini", "./a.yaml", NULL});
	assert_string_equal(result.messages,
			    "a.yaml:1: Namespace a is given twice, first at ./a.yaml:1\n");
	assert_int_equal(result.err, -EINVAL);
	free(result.messages);
	free(result.cluster);
}

static void unreadable(void **state)
{
	(void)state;
	expect("missing.yaml", -ENOENT, "missing.yaml: No such file or directory\n", NULL);
	assert_int_equal(symlink("gone", "in.yaml"), 0);
	expect(".", -ENOENT, "./in.yaml: No such file or directory\n", NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_suffix, enter, leave),
		cmocka_unit_test_setup_teardown(by_content, enter, leave),
		cmocka_unit_test_setup_teardown(standard_input, enter, leave),
		cmocka_unit_test_setup_teardown(too_large, enter, leave),
		cmocka_unit_test_setup_teardown(folders, enter, leave),
		cmocka_unit_test_setup_teardown(several_inputs, enter, leave),
		cmocka_unit_test_setup_teardown(unreadable, enter, leave),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
