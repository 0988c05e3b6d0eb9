// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/generate.h"

#include <errno.h>
#include <stdlib.h>

#include "compile/compile.h"
#include "input/input.h"

static const struct spelling {
	void (*print)(FILE *to, const struct cluster *cluster, uint64_t style);
	int (*read)(struct cluster *cluster, const char *text, size_t size, const char *name,
		    struct diag *diag);
	const char *name;
} yaml = {generate_yaml, input_parse_yaml, "generated.yaml"},
  json = {generate_json, input_parse_json, "generated.json"},
  ini = {generate_ini, input_parse_ini, "generated.ini"};

static const struct spelling *pick(const struct cluster *authored, uint64_t style)
{
	if (style % 4 == 0 && generate_fits_ini(authored))
		return &ini;
	return style % 4 == 1 ? &json : &yaml;
}

int generate_read(const struct cluster *authored, uint64_t style, struct diag *diag,
		  struct cluster *cluster)
{
	const struct spelling *spelling = pick(authored, style);
	FILE *to;
	char *text;
	size_t size;
	int err;

	to = open_memstream(&text, &size);
	if (!to)
		return -errno;
	spelling->print(to, authored, style);
	fclose(to);
	err = spelling->read(cluster, text, size, spelling->name, diag);
	free(text);
	return err ? err : cluster_finish(cluster, diag);
}

int generate_policy(const struct cluster *authored, uint64_t style, const struct policy *base,
		    FILE *errors, struct policy **policy)
{
	struct diag diag = {.to = errors};
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	err = generate_read(authored, style, &diag, &cluster);
	if (!err)
		err = compile_cluster(&cluster, base, &diag, policy);
	cluster_free(&cluster);
	return err;
}
