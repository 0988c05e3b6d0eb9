/* SPDX-License-Identifier: GPL-2.0-only */
/* The program at the XDP hook of an uplink, before the kernel has allocated an sk_buff for the
 * packet. */
#include "build.h"
#include "xdp.h"
#include "uplink.h"
#include "verifier.h"

char LICENSE[] SEC("license") = "GPL";

/* The first bytes of a frame, up to the transport header: behind two VLAN tags, an IPv4 header with
 * all options and a TCP header without. The offset of the network header is PARSE_NETWORK at most
 * for the verifier. */
struct xdp_headers {
	__u8 bytes[PARSE_NETWORK + 60 + sizeof(struct tcphdr) + 1];
};

/* Parses a copy of the headers. Global: the verifier lets it read at any offset of @copy, which it
 * would not on the stack. */
BPF_GLOBAL int xdp_parse_copy(struct xdp_md *md, struct packet *p, struct xdp_headers *copy,
			      __u32 bare)
{
	__u64 size = hook_length(md); /* 64 bits: the verifier loses a bound with a conversion */
	void *data = copy;

	if (!p || !copy)
		return BH_DROP_TRUNCATED;
	if (size > sizeof(*copy))
		size = sizeof(*copy);
	SETTLE(size);
	if (size < sizeof(struct ethernet_header) || hook_load(md, 0, copy, size))
		return BH_DROP_TRUNCATED;
	return bare ? parse_bare_frame(md, p, data, data + size)
		    : parse_frame(md, p, data, data + size);
}

/*
 * A frame of several buffers may have no whole header in the first one: mlx5 leaves it empty.
 * Headers are read in place, so this copies them. Not inline: the copy is on the stack.
 */
static __noinline int xdp_parse_again(struct xdp_md *md, struct packet *p, __u32 bare)
{
	struct xdp_headers copy = {};

	parse_begins_again(p);
	return xdp_parse_copy(md, p, &copy, bare);
}

static __always_inline int xdp_parse(struct xdp_md *md, struct packet *p,
				     const struct bh_iface *iface)
{
	int reason = uplink_parse(md, p, iface);

	if (likely(reason != BH_DROP_TRUNCATED) || hook_end(md) - hook_data(md) >= p->length)
		return reason;
	return xdp_parse_again(md, p, uplink_is_bare(iface));
}

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

	verifier_room();
	if (!p.generation)
		return XDP_PASS;
	iface = endpoint_iface(p.ifindex);
	reason = xdp_parse(md, &p, iface);
	return uplink_passes(md, &p, iface, reason) ? XDP_PASS : XDP_DROP;
}
