/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_allow_source: foreign addresses that an endpoint may send from
 * (`allow-source`). Pin name `allow_source`. LPM_TRIE. The loader writes it; a
 * miss drops. Asked only for an interface with BH_IFACE_ALLOW_SOURCE.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/allow_source
 */
#ifndef BULKHEAD_MAPS_ALLOW_SOURCE_H
#define BULKHEAD_MAPS_ALLOW_SOURCE_H

#include "maps/types.h"

struct bh_allow_source_key {
	__u32 length; /* bits: 32 of the interface, then 0 to 128 of the address */
	__be32 ifindex; /* index of the endpoint's interface on the node */
	struct bh_addr addr;
};
_Static_assert(sizeof(struct bh_allow_source_key) == 24, "struct bh_allow_source_key");

struct bh_allow_source {
	__u32 pad;
};
_Static_assert(sizeof(struct bh_allow_source) == 4, "struct bh_allow_source");

#endif
