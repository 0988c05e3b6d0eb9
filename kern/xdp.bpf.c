/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hook at an uplink. The kernel has undone no address translation yet, so it
 * drops only what needs no connection to be sure: what is malformed or claims an
 * address of ours, and SYNs that policy denies to an endpoint of this node. What
 * is for none of them passes untouched.
 */
#include "xdp.h"
#include "parse.h"
#include "events.h"
#include "policy.h"
#include "maps/config.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u32 xdp_generation(void)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config ? READ_ONCE(config->generation) : 0;
}

static __always_inline int xdp_syn(struct packet *p, const struct end *source,
				   const struct end *destination)
{
	int reason = policy_verdict(destination, source, BH_INGRESS,
				    BH_POINT_TCP + bpf_ntohs(p->port[1]), &p->verdict[BH_INGRESS]);

	if (!reason && !bh_verdict_allow(p->verdict[BH_INGRESS]))
		reason = BH_DROP_INGRESS;
	if (reason)
		events_rule(p->verdict[BH_INGRESS]);
	return reason;
}

static __always_inline bool xdp_audited(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface(ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/* Returns 0 or the reason to drop; @reason: what the parser found. */
static __noinline int xdp_judge(struct packet *p, int reason, __u32 *owner)
{
	struct end source = {}, destination = {};
	struct bh_addr addr;

	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &destination))
		return 0;
	*owner = destination.ifindex;
	/* Its own hook finds the same, and counts and reports it there. */
	if (*owner && xdp_audited(*owner))
		return 0;
	packet_address(p, p->from, &addr);
	if (!endpoint_resolve(&addr, p->generation, &source) &&
	    (source.ifindex || source.flags & END_NODE))
		return BH_DROP_CLAIM;
	if (!destination.ifindex)
		return 0;
	if (reason || p->class != PACKET_FLOW || p->protocol != IPPROTO_TCP ||
	    (p->tcp_flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
		return reason;
	return xdp_syn(p, &source, &destination);
}

SEC("xdp.frags")
int xdp_uplink(struct xdp_md *md)
{
	struct packet p = {
		.hook = BH_HOOK_UPLINK,
		.generation = xdp_generation(),
		.ifindex = md->ingress_ifindex,
		.ingress = md->ingress_ifindex,
	};
	struct bh_iface *iface;
	__u32 owner = 0;
	bool audit;
	int reason;

	if (!p.generation)
		return XDP_PASS;
	iface = endpoint_iface(p.ifindex);
	reason = iface && iface->flags & BH_IFACE_BARE ? parse_bare(md, &p) : parse_packet(md, &p);
	if (!p.version)
		return XDP_PASS;
	reason = xdp_judge(&p, reason, &owner);
	if (likely(!reason))
		return XDP_PASS;
	audit = !owner && iface && iface->flags & BH_IFACE_AUDIT;
	events_count(reason, p.length, audit);
	events_emit(&p, reason, audit);
	return audit ? XDP_PASS : XDP_DROP;
}
