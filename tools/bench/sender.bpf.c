// SPDX-License-Identifier: GPL-2.0-only
/* The sender: run with live frames, it sends each frame into an interface, as one of many flows.
 * Another program drops such frames when they arrive. */
#include "kern/base.h"
#include "tools/bench/sender.h"

char LICENSE[] SEC("license") = "GPL";

struct sender_order order;

static __u32 flow;

SEC("xdp")
int send(struct xdp_md *md)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	struct sender_headers *headers = data;

	if ((void *)(headers + 1) > end)
		return XDP_ABORTED;
	*headers = order.headers;
	headers->port[order.back ? 1 : 0] = bpf_htons(10000 + flow);
	if (++flow >= order.flows)
		flow = 0;
	return bpf_redirect(order.ifindex, 0);
}

SEC("xdp")
int drop(struct xdp_md *md __attribute__((unused)))
{
	return XDP_DROP;
}
