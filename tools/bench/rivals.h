/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets up what Bulkhead is compared with on the wire, from the same policies. */
#ifndef BULKHEAD_TOOLS_BENCH_RIVALS_H
#define BULKHEAD_TOOLS_BENCH_RIVALS_H

#include "tools/bench/world.h"

/* Writes the policies of the generator's workload "node". Returns 0 or -errno. */
int rivals_policies(const struct bench *bench, char path[BENCH_PATH]);

/* Attaches the floor at both pods' hooks: a program that only parses and finds its 5-tuple in an
 * LRU hash. Returns 0 or -errno, reported. */
int rivals_floor(const struct world *world);

/* Writes the policies as nftables rules into the node's namespace: sets with one rule a
 * protocol, or a rule for each range of ports. Returns 0 or -errno, reported. */
int rivals_nft(const struct world *world, bool sets);

/* Attaches Debian's xdp-filter at the uplink: it drops SYNs by port as the policies do, and
 * looks addresses up as well. Returns 0 or -errno, reported. */
int rivals_xdp_filter(const struct world *world);

#endif
