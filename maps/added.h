/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_added: the endpoints that `endpoint add` placed and the active policy does not know, by each
 * of their addresses. Pin name `added`. HASH. Only the command reads and writes it. An entry holds
 * the options of `endpoint add`, so that each load places the endpoint anew. It goes by `endpoint
 * del`, with its interface, or when a policy has the endpoint.
 *
 * If the maps hold only what the node needs (blob.h), an entry without a name is an endpoint of the
 * policy that was taken off. Elsewhere the stored policy says so.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/added
 */
#ifndef BULKHEAD_MAPS_ADDED_H
#define BULKHEAD_MAPS_ADDED_H

#include "maps/types.h"

struct bh_added {
	char ns[64];
	char name[256];
	/* Strings "FIELD=VALUE", each with its NUL; an empty one ends them. `ip`: an address, the
	 * entry's key first; `label`: "KEY=VALUE"; `port`: "NAME PROTOCOL/NUMBER", both numbers;
	 * `source`: a CIDR; `node`; `interface`; `mac`; `mode=l2`; `audit=yes`. An endpoint that a
	 * container runtime added also has the pod's `uid`, `attachment`, "CONTAINER:INTERFACE",
	 * and `unknown=yes` if nothing says whose pod it is. */
	char fields[3776];
};
_Static_assert(sizeof(struct bh_added) == 4096, "struct bh_added");

#endif
