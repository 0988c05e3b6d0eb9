/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_added: the endpoints that `endpoint add` placed and the policy in force
 * does not know, by each of their addresses. Pin name `added`. HASH. The loader's
 * own: the programs do not read it, and the next load empties it. Where the maps
 * have only what the node needs (blob.h), an entry without a name is an endpoint
 * of the policy's that was taken off: else the policy says who is there.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/added
 */
#ifndef BULKHEAD_MAPS_ADDED_H
#define BULKHEAD_MAPS_ADDED_H

#include "maps/types.h"

struct bh_added {
	char ns[64];
	char name[256];
};
_Static_assert(sizeof(struct bh_added) == 320, "struct bh_added");

#endif
