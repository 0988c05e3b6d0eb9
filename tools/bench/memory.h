/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's own account of the memory of the maps that are pinned. */
#ifndef BULKHEAD_TOOLS_BENCH_MEMORY_H
#define BULKHEAD_TOOLS_BENCH_MEMORY_H

struct map_memory {
	double policy; /* bytes of those whose size follows the policy */
	double blob; /* of that, the policy itself */
	double fixed; /* of the others */
};

/* Returns 0 or -errno. */
int memory_read(const char *pin, struct map_memory *memory);

#endif
