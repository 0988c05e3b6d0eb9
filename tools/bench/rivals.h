/* SPDX-License-Identifier: GPL-2.0-only */
/* What Bulkhead is compared with on the wire, set up from the same policies. */
#ifndef BULKHEAD_TOOLS_BENCH_RIVALS_H
#define BULKHEAD_TOOLS_BENCH_RIVALS_H

#include "tools/bench/world.h"

/* The policies, by the generator's workload "node". Returns 0 or -errno. */
int rivals_policies(const struct bench *bench, char path[BENCH_PATH]);

/* At both pods' hooks, the floor: a program that only parses and finds its 5-tuple in an LRU hash.
 * Returns 0 or -errno, reported. */
int rivals_floor(const struct world *world);

/* The same as nftables rules in the node's namespace: sets and one rule a protocol, or a rule for
 * each range of ports. Returns 0 or -errno, reported. */
int rivals_nft(const struct world *world, bool sets);

/* Debian's xdp-filter at the uplink: it drops SYNs as the policies do, by their port, and looks
 * addresses up too. Returns 0 or -errno, reported. */
int rivals_xdp_filter(const struct world *world);

#endif
