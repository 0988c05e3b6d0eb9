/* SPDX-License-Identifier: GPL-2.0-only */
/* The packet that a program handles: its addresses, ports and flags. parse.h fills it. */
#ifndef BULKHEAD_KERN_PACKET_H
#define BULKHEAD_KERN_PACKET_H

#include <stddef.h>

#include "active_map.h"
#include "maps/config.bpf.h"
#include "maps/conntrack.h"
#include "maps/counter.h"
#include "maps/event.h"

/* How tc_class() handles the packet. */
enum packet_class {
	PACKET_FLOW, /* belongs to a connection: it has ports, or its protocol has none */
	PACKET_FRAGMENT, /* a fragment after the first one */
	PACKET_ICMP_ERROR,
	PACKET_NEIGHBOUR, /* ND or MLD */
	PACKET_ARP,
	PACKET_OTHER, /* not IP */
};

#define PACKET_MORE_FRAGMENTS (1u << 0)
#define PACKET_FRAGMENT_HEADER (1u << 1) /* IPv6 */
#define PACKET_ANSWERS (1u << 2) /* the SYN-ACK of a half-open connection, evaluated */

struct packet {
	struct bh_ct_key key;
	__u64 hash; /* of the whole key; follows it as in struct table_key */
	/* These four fields are two 8-byte words. Each word is written and read whole: the CPU
	 * cannot forward two 4-byte stores to one 8-byte load. */
	__u16 l3; /* offset */
	__u8 mac_to[6], mac_from[6];
	__u16 fragment_at; /* byte offset of the fragment in its datagram */
	__u32 generation; /* read once */
	__u32 now; /* tick */
	__u32 ifindex; /* the interface of this hook */
	/* the interface by which the packet came in; 0: this node made it; INGRESS_LOST */
	__u32 ingress;
	__u32 length; /* of the frame */
	__u32 sequence, acknowledged; /* TCP */
	union {
		__u32 fragment_id; /* of a fragment */
		/* if `found`: place of the connection in the table, as table_at() returns it */
		__u32 at;
		/* else, at an endpoint's hook: packet_changes(), before the evaluation */
		__u32 changes;
	};
	__u16 l4_length; /* bytes after the IP headers */
	__u16 payload; /* TCP: bytes after the TCP header */
	__u16 l4; /* offset */
	__u16 fragment_length; /* bytes of the datagram that are in the fragment */
	/* source, destination as in the header, at a multiple of 4; of an ICMP error: of the
	 * connection, in the error's direction */
	__be16 port[2];
	__u8 hook; /* enum bh_hook */
	__u8 class; /* enum packet_class */
	__u8 version; /* 4 or 6 */
	__u8 protocol;
	__u8 from; /* the end of the key that sent the packet */
	__u8 tcp_flags; /* 0 unless this is a TCP segment, whose header was read */
	__u8 type; /* ICMP type */
	__u8 hop_limit;
	__u8 flags; /* PACKET_* */
	/* enum bh_reason for which an end in audit would have dropped the packet; of several, the
	 * first */
	__u8 audit;
	/* One byte: 6.1 rounds the stack of each function up to 32. */
	__u8 reply : 1;
	__u8 enforced : 1; /* denied by the policy of an end that is not in audit */
	__u8 uncounted : 1; /* the destination's hook counts the packet */
	__u8 absent : 1; /* the table has no connection of this key */
	__u8 found : 1; /* the fast path found the connection, but did not pass the packet */
	/* TOLD_*, the answer of the kernel's conntrack (translation.h); 0: not asked */
	__u8 told : 2;
	__u8 lives : 1; /* the connection was open before this evaluation */
	/* LOCAL_*, the answer of the kernel's routes about the other end's address, which is in no
	 * map (local.h); 0: not asked */
	__u8 local : 2;
	__u8 confined : 1; /* must not leave the node (confine.h) */
	__u8 links : 2; /* LINKS_*, whether all interfaces are guarded (links.h); 0: not asked */
	/* NAMED_*, whether a domain name allows the flow that policy denies by its address
	 * (domain.h); 0: not asked */
	__u8 named : 2;
	__u8 calls : 1; /* when they are asked for: the end of the key whose names they are */
	/* The verdict of each end that was asked, by enum bh_direction. While names are asked for,
	 * [BH_EGRESS] has the interface of the endpoint whose names they are. */
	__u32 verdict[2];
};

/* The key and its hash are also a struct table_key (conntrack_table.h). */
_Static_assert(offsetof(struct packet, key) == 0, "struct packet begins with its key");

/* parse_ethernet() writes these pairs as one word each, and verdict_cache_key() reads them so. */
_Static_assert(offsetof(struct packet, l3) % 8 == 0 &&
		       offsetof(struct packet, mac_to) == offsetof(struct packet, l3) + 2,
	       "l3 and mac_to are one word");
_Static_assert(offsetof(struct packet, mac_from) % 8 == 0 &&
		       offsetof(struct packet, fragment_at) ==
			       offsetof(struct packet, mac_from) + 6,
	       "mac_from and fragment_at are one word");
_Static_assert(offsetof(struct packet, port) % 4 == 0, "parse_ports() writes both ports at once");

/* `role ? x[1] : x[0]` and `direction & 1` stand for x[role] where the verifier needs a constant
 * index. */
_Static_assert(BH_INGRESS == 0 && BH_EGRESS == 1, "enum bh_direction");

#define INGRESS_LOST 0xffffffffu /* no interface: of a fragment that came in, and was made anew */

#define LOCAL_HERE 1 /* an address that the node got after the maps were written */
#define LOCAL_ELSEWHERE 2

#define NAMED_NOT 1
#define NAMED_ALLOWS 2
#define NAMED_NO_MORE 3 /* none do, whoever calls */

#define LINKS_GUARDED 1
#define LINKS_STRAY 2

static __always_inline void packet_audited(struct packet *p, int reason)
{
	if (!p->audit)
		p->audit = reason;
}

/* Returns true if the packet's address is a group's. A packet to 0.0.0.0 is a broadcast to the
 * kernel, if it is from there as well. */
static __always_inline bool packet_has_group(const struct packet *p)
{
	const __u8 *to = (const __u8 *)(p->from ? p->key.addr[0] : p->key.addr[1]);

	return p->version == 4 ? !to[12] || to[12] >= 224 : to[0] == 255;
}

/* Returns true if the packet goes to a group (multicast, broadcast). The hook of each receiver
 * evaluates it alone, and no host can answer from a group address. */
static __always_inline bool packet_is_group(const struct packet *p)
{
	return p->mac_to[0] & 1 || packet_has_group(p);
}

/* Returns the active generation. Each packet reads it once. */
static __always_inline __u32 packet_generation(void)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config ? READ_ONCE(config->generation) : 0;
}

/* Returns the number of changes of the maps. Read it before any map; odd: a change is under way. */
static __always_inline __u32 packet_changes(void)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config ? READ_ONCE(config->changes) : 1;
}

/* Copies an end's address into the form that other maps' keys have. */
static __always_inline void packet_address(const struct packet *p, __u32 end, struct bh_addr *addr)
{
	__builtin_memcpy(addr, end ? p->key.addr[1] : p->key.addr[0], sizeof(*addr));
}

/* Returns an end's address in place, for functions that do not use it as a map's key. */
static __always_inline const struct bh_addr *packet_address_at(const struct packet *p, __u32 end)
{
	return (const struct bh_addr *)(end ? p->key.addr[1] : p->key.addr[0]);
}

static __always_inline __be32 packet_ipv4(const struct packet *p, __u32 end)
{
	return (end ? p->key.addr[1][1] : p->key.addr[0][1]) >> 32;
}

static __always_inline __be16 packet_port(const struct packet *p, __u32 end)
{
	return end ? p->key.port[1] : p->key.port[0];
}

#endif
