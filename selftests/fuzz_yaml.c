// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the YAML and JSON readers: they read or refuse with a message, and free all memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "input/input.h"

typedef int parser(struct cluster *cluster, const char *text, size_t size, const char *name,
		   struct diag *diag);

static void parse(parser *parse, const uint8_t *data, size_t size)
{
	struct diag diag = {0};
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	err = parse(&cluster, (const char *)data, size, "fuzz", &diag);
	if (!err)
		err = cluster_finish(&cluster, &diag);
	/* A refusal has a message, and only a refusal. */
	if (!err != !diag.errors)
		abort();
	cluster_free(&cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse(input_parse_yaml, data, size);
	parse(input_parse_json, data, size);
	return 0;
}
