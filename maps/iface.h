/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ifaces: the role and properties of each interface that carries Bulkhead's programs. Pin
 * name `ifaces`. HASH, key ifindex. The loader writes an entry before it attaches programs. A
 * miss at an endpoint's hook drops the packet (fail closed).
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/ifaces key 7 0 0 0
 */
#ifndef BULKHEAD_MAPS_IFACE_H
#define BULKHEAD_MAPS_IFACE_H

#include "maps/types.h"

#define BH_IFACE_ENDPOINT (1u << 0) /* the node's side of an endpoint's interface */
#define BH_IFACE_UPLINK (1u << 1)
#define BH_IFACE_L2 (1u << 2) /* bridged: the endpoint finds its peers by MAC */
#define BH_IFACE_AUDIT (1u << 3) /* count and report, never drop */
#define BH_IFACE_MAC (1u << 4) /* `mac` is known, and is checked */
#define BH_IFACE_ALLOW_SOURCE (1u << 5) /* bh_allow_source has entries for it */
#define BH_IFACE_QDISC (1u << 6) /* for the loader: it made the clsact qdisc, and removes it */
#define BH_IFACE_BARE (1u << 7) /* an uplink without Ethernet headers: a tunnel */
#define BH_IFACE_PEER (1u << 8) /* a routed veth between two network namespaces */
#define BH_IFACE_PORT (1u << 9) /* a port of an endpoint's bridge that is no endpoint */
#define BH_IFACE_OTHER (1u << 10) /* none of these roles: packets may leave the node by it */
#define BH_IFACE_VIA (1u << 11) /* packets of endpoints may come in by it: a bridge of theirs */
#define BH_IFACE_TOLD (1u << 12) /* a container runtime told `mac`, and no policy */

/* The roles, which say which programs the interface carries. */
#define BH_IFACE_ROLES (BH_IFACE_ENDPOINT | BH_IFACE_UPLINK | BH_IFACE_PORT | BH_IFACE_OTHER)

struct bh_iface {
	__u32 flags;
	__u8 mac[6]; /* of the endpoint's side */
	__u8 node_mac[6]; /* of the node's side, if this is an endpoint's */
	/* The endpoint's first address of each IP version; all 0: none. While the endpoint's
	 * addresses change, `ipv4` is one that it had and `ipv6` one that it gets, each of
	 * either version. */
	struct bh_addr ipv4;
	struct bh_addr ipv6;
	/* ifindex of the interface by which node and endpoint reach each other, if it is another
	 * one, such as a bridge; 0: it is this one. */
	__u32 via;
	__u32 bridge; /* ifindex of the bridge that this is a port of; 0: none */
	__u64 ns; /* bh_namespace() of the endpoint's namespace (maps/tally.h); 0: no endpoint */
};
_Static_assert(sizeof(struct bh_iface) == 64, "struct bh_iface");

#endif
