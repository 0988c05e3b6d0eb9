/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_macs: the owner of each MAC. It identifies bridged endpoints (BH_IFACE_L2), senders of
 * link-local addresses, which no prefix can tell apart, and senders behind any port of a bridge.
 * Pin name `macs`. HASH. The loader writes it. A hit stands for the owner's address of the
 * packet's IP version. A miss means that the policy knows no owner, and the packet's own address
 * decides.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/macs
 */
#ifndef BULKHEAD_MAPS_MAC_H
#define BULKHEAD_MAPS_MAC_H

#include "maps/types.h"

enum bh_mac_kind {
	BH_MAC_ENDPOINT,
	/* MACs of the node's sides of endpoints' interfaces, and of their bridges. Packets that
	 * the node routes have these too, so they identify the sender of link-local addresses
	 * only. */
	BH_MAC_NODE,
};

struct bh_mac_key {
	__u8 mac[6];
	__u8 kind; /* enum bh_mac_kind */
	__u8 pad;
};
_Static_assert(sizeof(struct bh_mac_key) == 8, "struct bh_mac_key");

struct bh_mac {
	struct bh_addr ipv4; /* addresses of the endpoint or of this node; all 0: none */
	struct bh_addr ipv6;
	__u32 ifindex; /* the endpoint's interface on the node; 0: the MAC is the node's */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_mac) == 40, "struct bh_mac");

#endif
