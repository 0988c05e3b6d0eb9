// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/compile.h"
#include "input/input.h"
#include "selftests/lib/dump.h"
#include "selftests/lib/read.h"

static char *dump_compiled(const struct cluster *cluster, struct diag *diag)
{
	struct policy *policy;
	char *dump;

	assert_int_equal(compile_cluster(cluster, NULL, diag, &policy), 0);
	dump = dump_services(policy);
	policy_free(policy);
	return dump;
}

static void read_and_dump(enum read_format format, const char *text, size_t size, bool services,
			  struct read_result *result)
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
	if (!result->err)
		result->dump = services ? dump_compiled(&cluster, &diag) : dump_cluster(&cluster);
	fclose(diag.to);
	cluster_free(&cluster);
}

void read_text(enum read_format format, const char *text, size_t size, struct read_result *result)
{
	read_and_dump(format, text, size, false, result);
}

void read_services(enum read_format format, const char *text, size_t size,
		   struct read_result *result)
{
	read_and_dump(format, text, size, true, result);
}

void read_result_free(struct read_result *result)
{
	free(result->messages);
	free(result->dump);
}
