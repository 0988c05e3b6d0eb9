// SPDX-License-Identifier: GPL-2.0-only
/* The flood: run with live frames, it sends each frame out of an interface, from a source of its
 * own. */
#include "kern/base.h"
#include "selftests/helpers/flood.h"

char LICENSE[] SEC("license") = "GPL";

struct flood_order order;

static __always_inline __u32 words(__u32 value)
{
	return (value & 0xffff) + (value >> 16);
}

static __always_inline __sum16 fold(__u32 sum)
{
	return ~words(words(sum));
}

static __always_inline void fill_segment(union flood_segment *segment, __u32 sum)
{
	__u32 random = bpf_get_prandom_u32();
	__be16 port = bpf_htons(1024 + (random & 0x7fff));

	segment->tcp.source = port;
	sum += port;
	if (!order.tcp) {
		segment->udp.check = fold(sum);
		return;
	}
	random *= 2654435761u; /* a number that the port does not show */
	segment->tcp.seq = random;
	segment->tcp.check = fold(sum + words(random));
}

SEC("xdp")
int flood_send(struct xdp_md *md)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	__be32 source = order.base | (bpf_get_prandom_u32() & order.mask);
	struct flood_frame *frame = data;

	if (md->ingress_ifindex != order.ifindex)
		return XDP_PASS; /* of `lo`, where the program is attached, too */
	if ((void *)(frame + 1) > end)
		return XDP_ABORTED;
	*frame = order.frame;
	if (order.v6) {
		frame->v6.ip.saddr.in6_u.u6_addr32[3] = source;
		fill_segment(&frame->v6.segment, order.l4_sum + words(source));
	} else {
		frame->v4.ip.saddr = source;
		frame->v4.ip.check = fold(order.ip_sum + words(source));
		fill_segment(&frame->v4.segment, order.l4_sum + words(source));
	}
	return bpf_redirect(order.ifindex, 0);
}
