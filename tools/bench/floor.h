/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by floor.bpf.c and the code that runs its programs. */
#ifndef BULKHEAD_TOOLS_BENCH_FLOOR_H
#define BULKHEAD_TOOLS_BENCH_FLOOR_H

#include <linux/types.h>

#define FLOOR_TC_DONE -1 /* also what Bulkhead's programs return for a packet that passes */
#define FLOOR_FAILED 77

/*
 * The next ports: 50,000 source ports for each destination port. The step divides no number of
 * flows, so flows come in another order than that in which they were opened and in which their
 * entries are in memory.
 */
#define FLOOR_SOURCE 10000
#define FLOOR_SOURCE_END 60000
#define FLOOR_STEP 7919

struct floor_rotation {
	__u32 ports_at; /* offset in the frame, bytes */
	__u32 step;
	__u32 source, source_end;
	__u16 destination;
	__u16 back; /* 1: the destination sends; 0: the source */
	__u16 destination_first, destination_end;
};

#endif
