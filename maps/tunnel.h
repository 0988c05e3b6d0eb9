/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_tunnels: the UDP ports on which the node takes packets apart (VXLAN, Geneve,
 * bareudp; FOU and GUE): an endpoint sends nothing to its node there. Pin name
 * `tunnels`. HASH, key a port. The loader writes what the kernel has when it runs;
 * a miss: no such tunnel has its end there.
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
