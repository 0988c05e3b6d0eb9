/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_added: the endpoints that `endpoint add` placed and the policy in force
 * does not know, by each of their addresses. Pin name `added`. HASH. The command's
 * own: the programs do not read it. An entry says what the endpoint was added
 * with, so that each load places it anew; it goes by `endpoint del`, with its
 * interface, or when a policy has the endpoint. Where the maps have only what the
 * node needs (blob.h), an entry without a name is an endpoint of the policy's that
 * was taken off: else the policy says who is there.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/added
 */
#ifndef BULKHEAD_MAPS_ADDED_H
#define BULKHEAD_MAPS_ADDED_H

#include "maps/types.h"

struct bh_added {
	char ns[64];
	char name[256];
	/* Strings "FIELD=VALUE", each with its NUL, the last one empty: `ip`, first the one that is
	 * the entry's key; `label`, "KEY=VALUE"; `port`, "NAME PROTOCOL/NUMBER", numbers of both;
	 * `source`, a CIDR; `node`, `interface`, `mac`, `mode=l2`, `audit=yes`; of what a container
	 * runtime had added the pod's `uid`, `attachment`, "CONTAINER:INTERFACE", and `unknown=yes`
	 * where nobody has said whose it is. */
	char fields[3776];
};
_Static_assert(sizeof(struct bh_added) == 4096, "struct bh_added");

#endif
