/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_counters: numbers of packets by verdict, reason and direction. Pin name `counters`.
 * PERCPU_ARRAY, index enum bh_reason. The programs count; nothing resets the counters. A packet
 * counts once, at the hook that decides it. A packet that passes between two endpoints of this
 * node counts at the destination's hook. Each reason has its place, so nobody can fill the map.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/counters
 */
#ifndef BULKHEAD_MAPS_COUNTER_H
#define BULKHEAD_MAPS_COUNTER_H

#include "maps/types.h"

/* REASON(name, text). The drops follow the passes. */
#define BH_PASS_REASONS(REASON)                                       \
	REASON(BH_PASS_OPEN, "no active policy")                      \
	REASON(BH_PASS_ESTABLISHED, "of an allowed connection")       \
	REASON(BH_PASS_NEW, "opens a connection that policy allows")  \
	REASON(BH_PASS_FRAGMENT, "follows its first fragment")        \
	REASON(BH_PASS_RELATED, "ICMP error about a live connection") \
	REASON(BH_PASS_NEIGHBOUR, "ARP, neighbour discovery or MLD")

#define BH_DROP_REASONS(REASON)                                                         \
	REASON(BH_DROP_EGRESS, "denied by the source's policy")                         \
	REASON(BH_DROP_INGRESS, "denied by the destination's policy")                   \
	REASON(BH_DROP_UNASSIGNED, "endpoint without a segment")                        \
	REASON(BH_DROP_NO_CONNECTION, "TCP segment of no connection")                   \
	REASON(BH_DROP_HANDSHAKE, "TCP segment that its handshake does not allow")      \
	REASON(BH_DROP_TRUNCATED, "cut short")                                          \
	REASON(BH_DROP_IP, "inconsistent IP header")                                    \
	REASON(BH_DROP_EXTENSION, "IPv6 extension headers beyond bounds")               \
	REASON(BH_DROP_TRANSPORT, "inconsistent transport header")                      \
	REASON(BH_DROP_NOT_IP, "neither IP nor ARP")                                    \
	REASON(BH_DROP_VLAN, "more than two VLAN tags")                                 \
	REASON(BH_DROP_SOURCE, "source address that is not the endpoint's")             \
	REASON(BH_DROP_MAC, "source MAC that is not the endpoint's")                    \
	REASON(BH_DROP_CLAIM, "claims an address of this node or its endpoints")        \
	REASON(BH_DROP_NEIGHBOUR, "ARP or neighbour discovery that speaks for others")  \
	REASON(BH_DROP_ROUTER, "router advertisement or redirect of an endpoint")       \
	REASON(BH_DROP_HOP_LIMIT, "neighbour discovery or MLD from beyond the link")    \
	REASON(BH_DROP_NO_FIRST, "fragment whose first was not let through")            \
	REASON(BH_DROP_TINY, "first fragment without its whole header")                 \
	REASON(BH_DROP_OVERLAP, "fragment over its first one")                          \
	REASON(BH_DROP_UNRELATED, "ICMP error about no connection")                     \
	REASON(BH_DROP_SOURCE_ROUTE, "source-routed")                                   \
	REASON(BH_DROP_TUNNEL, "encapsulated, from an endpoint to a node")              \
	REASON(BH_DROP_CHECKSUM, "checksum to be completed out of its place")           \
	REASON(BH_DROP_ASTRAY, "MAC of another host than the destination address")      \
	REASON(BH_DROP_UNTRANSLATED, "Service address that the node did not translate") \
	REASON(BH_DROP_BACKEND, "reply of a Service whose backend is not known")        \
	REASON(BH_DROP_UNHOOKED, "call of a Service that no hook would see leave")      \
	REASON(BH_DROP_SENDER, "translated, from an endpoint that nobody can tell")     \
	REASON(BH_DROP_SHARE, "beyond the endpoint's share of connections")             \
	REASON(BH_DROP_INTERFACE, "interface that is not in bh_ifaces")                 \
	REASON(BH_DROP_MAPS, "a map lacks what another refers to")

enum bh_reason {
#define BH_REASON_NAME(name, text) name,
	BH_PASS_REASONS(BH_REASON_NAME) BH_DROP_REASONS(BH_REASON_NAME)
#undef BH_REASON_NAME
		BH_REASONS
};

static inline _Bool bh_reason_drops(enum bh_reason reason)
{
	return reason >= BH_DROP_EGRESS;
}

/* Strings for all reasons: `static const char *const texts[BH_REASONS] = BH_REASON_TEXTS;` */
#define BH_REASON_TEXT(name, text) [name] = text,
#define BH_REASON_TEXTS                                                         \
	{                                                                       \
		BH_PASS_REASONS(BH_REASON_TEXT) BH_DROP_REASONS(BH_REASON_TEXT) \
	}

/* Arrays are by enum bh_direction. [BH_EGRESS]: packets from an endpoint, at its own hook or
 * where they leave the node. [BH_INGRESS]: packets to an endpoint. */
struct bh_counter {
	__u64 packets[2];
	__u64 bytes[2]; /* of the frames */
	__u64 audit_packets[2]; /* passed by audit only, where policy would drop them */
	__u64 audit_bytes[2];
};
_Static_assert(sizeof(struct bh_counter) == 64, "struct bh_counter");

#endif
