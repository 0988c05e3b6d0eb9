/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by floor.bpf.c and who runs its programs. */
#ifndef BULKHEAD_TOOLS_BENCH_FLOOR_H
#define BULKHEAD_TOOLS_BENCH_FLOOR_H

#include <linux/types.h>

#define FLOOR_TC_DONE -1 /* as Bulkhead's programs when they pass a packet */
#define FLOOR_FAILED 77

/*
 * The ports that come next: 50,000 source ports for each destination port. By a
 * step that divides no number of flows they come in another order than that in
 * which they were opened one by one, and in which their entries stand in memory.
 */
#define FLOOR_SOURCE 10000
#define FLOOR_SOURCE_END 60000
#define FLOOR_STEP 7919

struct floor_rotation {
	__u32 ports_at; /* offset in the frame */
	__u32 step;
	__u32 source, source_end;
	__u16 destination;
	__u16 back; /* 0 or 1: the destination sends */
	__u16 destination_first, destination_end;
};

#endif
