/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_macs: whose a MAC is: for bridged endpoints (BH_IFACE_L2), for link-local
 * addresses, which no prefix can tell apart, and for what comes to a bridge
 * through any of its ports. Pin name `macs`. HASH.
 * The loader writes it. A hit stands for the address of the packet's IP version;
 * a miss: nobody's that policy knows, and the packet's own address decides.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/macs
 */
#ifndef BULKHEAD_MAPS_MAC_H
#define BULKHEAD_MAPS_MAC_H

#include "maps/types.h"

enum bh_mac_kind {
	BH_MAC_ENDPOINT,
	/* Host sides of endpoints' interfaces, and their bridges. What the node routes has these
	 * too: whose a packet is, they tell for link-local addresses only. */
	BH_MAC_NODE,
};

struct bh_mac_key {
	__u8 mac[6];
	__u8 kind; /* enum bh_mac_kind */
	__u8 pad;
};
_Static_assert(sizeof(struct bh_mac_key) == 8, "struct bh_mac_key");

struct bh_mac {
	struct bh_addr ipv4; /* an endpoint's or this node's address, all 0: none */
	struct bh_addr ipv6;
	__u32 ifindex; /* host side of the endpoint's interface; 0: the node's */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_mac) == 40, "struct bh_mac");

#endif
