/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ifaces: what each interface that carries our programs is. Pin name
 * `ifaces`. HASH, key ifindex. The loader writes it before it attaches; a miss
 * at an endpoint's hook drops (fail closed).
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/ifaces key 7 0 0 0
 */
#ifndef BULKHEAD_MAPS_IFACE_H
#define BULKHEAD_MAPS_IFACE_H

#include "maps/types.h"

#define BH_IFACE_ENDPOINT (1u << 0) /* host side of an endpoint's interface */
#define BH_IFACE_UPLINK (1u << 1)
#define BH_IFACE_L2 (1u << 2) /* bridged, as the kernel or the input says: peers resolve by MAC */
#define BH_IFACE_AUDIT (1u << 3) /* count and report, never drop */
#define BH_IFACE_MAC (1u << 4) /* `mac` is known and checked */
#define BH_IFACE_ALLOW_SOURCE (1u << 5) /* has entries in bh_allow_source */
#define BH_IFACE_QDISC (1u << 6) /* the loader's own: it made the clsact qdisc, and removes it */
#define BH_IFACE_BARE (1u << 7) /* an uplink without Ethernet headers: a tunnel */
#define BH_IFACE_PEER (1u << 8) /* a routed veth, whose other side is in another namespace */
#define BH_IFACE_PORT (1u << 9) /* another port of an endpoint's bridge */
#define BH_IFACE_OTHER (1u << 10) /* none of these: packets may leave the node by it */
#define BH_IFACE_VIA (1u << 11) /* what endpoints send may come in by it: a bridge of theirs */

/* Which programs it carries. */
#define BH_IFACE_ROLES (BH_IFACE_ENDPOINT | BH_IFACE_UPLINK | BH_IFACE_PORT | BH_IFACE_OTHER)

struct bh_iface {
	__u32 flags;
	__u8 mac[6]; /* of the endpoint's own side */
	__u8 node_mac[6]; /* of an endpoint's interface itself: BH_IFACE_PEER */
	/* The endpoint's first address of each version, all 0: none. While the endpoint gets other
	 * addresses: in ipv4 one that it had, in ipv6 one that it gets, of whatever version. */
	struct bh_addr ipv4;
	struct bh_addr ipv6;
	/* ifindex of what the node reaches the endpoint through, and the endpoint the node, where
	 * that is not this interface: its bridge, say; 0: none */
	__u32 via;
	__u32 bridge; /* ifindex of the one that this is a port of; 0: of none */
	__u64 ns; /* bh_namespace() of the endpoint's; 0: of none (maps/tally.h) */
};
_Static_assert(sizeof(struct bh_iface) == 64, "struct bh_iface");

#endif
