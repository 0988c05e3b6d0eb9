/* SPDX-License-Identifier: GPL-2.0-only */
/* What a change costs on a node that knows 150,000 endpoints of two addresses. */
#ifndef BULKHEAD_TOOLS_BENCH_CHANGES_H
#define BULKHEAD_TOOLS_BENCH_CHANGES_H

#include "tools/bench/place.h"

struct node_changes {
	struct place place;
	char blob[BENCH_PATH + 8], next[BENCH_PATH + 8];
	size_t changed; /* addresses, segments and pairs that the two do not have in common */
	struct figure *add, *add_busy, *add_writes, *del, *start;
	struct figure *local, *local_writes, *links, *filters;
	struct figure *again_writes, *change, *change_writes, *change_each;
};

int changes_prepare(struct bench *bench, struct node_changes *changes);
int changes_measure(struct bench *bench, struct node_changes *changes);

#endif
