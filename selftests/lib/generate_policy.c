// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/generate.h"

#include <errno.h>
#include <stdlib.h>

#include "compile/compile.h"
#include "input/input.h"

int generate_read(const struct cluster *authored, uint64_t style, struct diag *diag,
		  struct cluster *cluster)
{
	bool ini = style % 4 == 0 && generate_fits_ini(authored);
	FILE *to;
	char *text;
	size_t size;
	int err;

	to = open_memstream(&text, &size);
	if (!to)
		return -errno;
	(ini ? generate_ini : generate_yaml)(to, authored, style);
	fclose(to);
	err = ini ? input_parse_ini(cluster, text, size, "generated.ini", diag)
		  : input_parse_yaml(cluster, text, size, "generated.yaml", diag);
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
