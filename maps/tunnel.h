/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_tunnels: the UDP ports at which the node decapsulates packets (VXLAN, Geneve, bareudp; FOU
 * and GUE). An endpoint may not send to its node there. Pin name `tunnels`. HASH, key a port.
 * The loader writes the ports that the kernel has when the loader runs. A miss means that no
 * known tunnel ends at the port.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/tunnels
 */
#ifndef BULKHEAD_MAPS_TUNNEL_H
#define BULKHEAD_MAPS_TUNNEL_H

#include "maps/types.h"

struct bh_tunnel {
	__u32 pad;
};
_Static_assert(sizeof(struct bh_tunnel) == 4, "struct bh_tunnel");

#endif
