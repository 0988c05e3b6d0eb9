/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the memory of pinned maps, as the kernel counts it. */
#ifndef BULKHEAD_TOOLS_BENCH_MEMORY_H
#define BULKHEAD_TOOLS_BENCH_MEMORY_H

struct map_memory {
	double policy; /* bytes of the maps whose sizes depend on the policy */
	double blob; /* bytes of the stored policy, which `policy` includes */
	double fixed; /* bytes of the other maps */
};

/* Returns 0 or -errno. */
int memory_read(const char *pin, struct map_memory *memory);

#endif
