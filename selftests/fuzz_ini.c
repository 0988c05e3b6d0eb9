// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the INI reader: it reads or refuses with a message, and frees all memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "input/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag diag = {0};
	struct cluster cluster;
	int err;

	cluster_init(&cluster);
	err = input_parse_ini(&cluster, (const char *)data, size, "fuzz", &diag);
	if (!err)
		err = cluster_finish(&cluster, &diag);
	if (!err != !diag.errors)
		abort();
	cluster_free(&cluster);
	return 0;
}
