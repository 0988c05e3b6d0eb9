/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_link_locals: the node's link-local addresses, by link. Pin name `link_locals`. HASH. The
 * loader writes it. A hit means that no other host on the link may send from the address or answer
 * for it. A miss means that the address is not the node's.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/link_locals
 */
#ifndef BULKHEAD_MAPS_LINK_LOCAL_H
#define BULKHEAD_MAPS_LINK_LOCAL_H

#include "maps/types.h"

struct bh_link_local_key {
	__u32 link; /* ifindex of the bridge; of the endpoint's interface if there is no bridge */
	struct bh_addr addr;
};
_Static_assert(sizeof(struct bh_link_local_key) == 20, "struct bh_link_local_key");

struct bh_link_local {
	__u32 pad;
};
_Static_assert(sizeof(struct bh_link_local) == 4, "struct bh_link_local");

#endif
