/* SPDX-License-Identifier: GPL-2.0-only */
/* The program at the XDP hook of an uplink, before the kernel has allocated an sk_buff for the
 * packet. */
#include "build.h"
#include "xdp.h"
#include "uplink.h"

char LICENSE[] SEC("license") = "GPL";

SEC("xdp.frags")
int xdp_uplink(struct xdp_md *md)
{
	struct packet p = {
		.hook = BH_HOOK_UPLINK,
		.generation = packet_generation(),
		.ifindex = md->ingress_ifindex,
		.ingress = md->ingress_ifindex,
	};
	struct bh_iface *iface;
	int reason;

	if (!p.generation)
		return XDP_PASS;
	iface = endpoint_iface(p.ifindex);
	reason = uplink_parse(md, &p, iface);
	return uplink_passes(md, &p, iface, reason) ? XDP_PASS : XDP_DROP;
}
