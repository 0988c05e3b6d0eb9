/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps in force, read as they stand and without the lock: what `trace` and
 * `matrix` answer from when they are given no input, and what `show` prints.
 */
#ifndef BULKHEAD_NODE_LIVE_H
#define BULKHEAD_NODE_LIVE_H

#include "compile/judge.h"

struct live;

/* @pin NULL: NODE_PIN. *live is NULL where nothing is loaded. Returns 0 or -errno, reported. */
int live_open(const char *pin, struct diag *diag, struct live **live);
void live_close(struct live *live);

/* The generation in force when the maps were opened; every answer is for it. */
uint64_t live_generation(const struct live *live);

/* The compiled policy in force, with the endpoints that are in force now: names for the numbers in
 * the maps. */
const struct policy *live_policy(const struct live *live);

/*
 * The verdicts of the maps, through the same steps as in kern/. Where the maps have only what this
 * node needs, those of the policy in force, with the endpoints that have come or gone since.
 */
struct judge_source live_judge(const struct live *live);

/* A segment's ID in the policy from the one in the maps, and the other way round. */
uint32_t live_segment_id(const struct live *live, uint32_t id);

/* How many values an entry of a per-CPU map has. */
int live_cpus(void);

/*
 * Calls @visit for each entry of a pinned map, named by its pin; key and value are the structs of
 * maps/<map>.h. A per-CPU value is one value a possible CPU, each rounded up to 8 bytes. Entries
 * that come or go meanwhile may be missed. Stops where @visit returns non-zero, and returns that;
 * -ENOENT: there is no such map.
 */
int live_each(const struct live *live, const char *map,
	      int (*visit)(void *data, const void *key, const void *value), void *data);

#endif
