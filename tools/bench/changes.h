/* SPDX-License-Identifier: GPL-2.0-only */
/* The cost of a change on a node that knows 150,000 endpoints with two addresses each. */
#ifndef BULKHEAD_TOOLS_BENCH_CHANGES_H
#define BULKHEAD_TOOLS_BENCH_CHANGES_H

#include "tools/bench/place.h"

struct node_changes {
	struct place place;
	char blob[BENCH_PATH + 8], next[BENCH_PATH + 8];
	size_t changed; /* addresses, segments and pairs that only one of the two policies has */
	struct figure *add, *add_busy, *add_writes, *del, *start;
	struct figure *local, *local_writes, *links, *filters;
	struct figure *again_writes, *change, *change_writes, *change_each;
};

int changes_prepare(struct bench *bench, struct node_changes *changes);
int changes_measure(struct bench *bench, struct node_changes *changes);

#endif
