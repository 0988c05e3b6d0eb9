/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the active maps without the lock. `trace` and `matrix` answer from them when they have no
 * input, and `show` prints them.
 */
#ifndef BULKHEAD_NODE_LIVE_H
#define BULKHEAD_NODE_LIVE_H

#include <net/if.h>

#include "policy/evaluate.h"

struct live;
struct bh_learned;

/* @pin NULL: NODE_PIN. *live is NULL if nothing is loaded. Returns 0 or -errno, reported. */
int live_open(const char *pin, struct diag *diag, struct live **live);
void live_close(struct live *live);

/* Returns the active generation when the maps were opened. Every answer is for it. */
uint64_t live_generation(const struct live *live);

/* Returns the active policy, with the active endpoints now. That policy has the names for the
 * numbers in the maps. */
const struct policy *live_policy(const struct live *live);

/* Returns a source of verdicts from the maps, by the same steps as kern/. */
struct evaluate_source live_evaluate(const struct live *live);

/* Finds the interface of this node's endpoint that has the address. Returns false if there is none,
 * or if it is in another network namespace than this command. */
bool live_interface(const struct live *live, const struct address *address, char name[IF_NAMESIZE]);

/* Finds the number of a domain name in the maps (maps/domain.h). Returns 0 or -errno, not
 * reported. */
int live_domain(struct live *live, const char *text, uint64_t *domain);

/* Returns the interface of this node's endpoint that has the address; 0: none has it. */
uint32_t live_ifindex(const struct live *live, const struct address *address);
/* Reads what the endpoint at an interface has learned of an address (maps/dns.h). Returns false if
 * that is nothing. */
bool live_learned(const struct live *live, uint32_t ifindex, const struct address *address,
		  struct bh_learned *learned);

/* Returns the seconds from now until a tick; negative: the tick is over. */
int32_t live_seconds(uint32_t tick);

/* Returns the number of values in an entry of a per-CPU map. */
int live_cpus(void);

/*
 * Calls @visit for each entry of the map pinned as @map. Keys and values are the structs of
 * maps/<map>.h; a per-CPU value is one value for each possible CPU, each rounded up to 8 bytes.
 * May miss entries that come or go meanwhile. Stops if @visit returns non-zero, and returns
 * that. -ENOENT: there is no such map.
 */
int live_each(const struct live *live, const char *map,
	      int (*visit)(void *data, const void *key, const void *value), void *data);

/* As live_each(), for the hits of each rule, by its ID (maps/rule_hit.h). */
int live_hits(const struct live *live, int (*visit)(void *data, const void *key, const void *value),
	      void *data);

#endif
