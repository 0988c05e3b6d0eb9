/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_tunnels: to whom endpoints may not encapsulate packets, in entries of two kinds. A UDP port,
 * with the address 0: the node decapsulates packets there (VXLAN, Geneve, bareudp, GTP, AMT; FOU,
 * GUE and L2TP), and other nodes are taken to do so at the same port. An address, with the port 0:
 * a Node object has the address. Pin name `tunnels`. HASH. The loader writes the ports that the
 * kernel has when the loader runs, and the addresses of the policy's nodes. A miss means that no
 * known tunnel ends at the port, or that the address is no other node's.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/tunnels
 */
#ifndef BULKHEAD_MAPS_TUNNEL_H
#define BULKHEAD_MAPS_TUNNEL_H

#include "maps/types.h"

struct bh_tunnel_key {
	struct bh_addr addr;
	__u32 port; /* in host byte order */
};
_Static_assert(sizeof(struct bh_tunnel_key) == 20, "struct bh_tunnel_key");

struct bh_tunnel {
	__u32 pad;
};
_Static_assert(sizeof(struct bh_tunnel) == 4, "struct bh_tunnel");

#endif
