/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ports: the port lists, one after another. Pin name `ports`. ARRAY. Pairs and segments refer to
 * a list by struct bh_ports_ref (types.h): `count` intervals, sorted by `start`. The first begins
 * at 0. Each reaches to the next one, the last to the end of the number line. A binary search of at
 * most BH_PORTS_STEPS steps finds the interval that decides.
 *
 * bh_named: the port lists that named lists become, by list ID and the destination's resolution
 * of port names. Pin name `named`. HASH. Resolution 0 gives no name a number. The loader alone
 * writes both maps.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/named
 */
#ifndef BULKHEAD_MAPS_PORTS_H
#define BULKHEAD_MAPS_PORTS_H

#include "maps/types.h"

struct bh_interval {
	__u32 start; /* point: BH_POINT_* + port */
	__u32 verdict; /* verdict word */
};
_Static_assert(sizeof(struct bh_interval) == 8, "struct bh_interval");

#define BH_PORTS_STEPS 17
/* The most intervals of a list; the compiler refuses more. */
#define BH_PORTS_MAX ((1u << BH_PORTS_STEPS) - 1)

struct bh_named_key {
	__u32 list;
	__u32 resolution;
};
_Static_assert(sizeof(struct bh_named_key) == 8, "struct bh_named_key");

struct bh_named {
	struct bh_ports_ref ports; /* never BH_PORTS_NAMED */
};
_Static_assert(sizeof(struct bh_named) == 8, "struct bh_named");

#endif
