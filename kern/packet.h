/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of the packet in hand. parse.h fills it. */
#ifndef BULKHEAD_KERN_PACKET_H
#define BULKHEAD_KERN_PACKET_H

#include "base.h"
#include "maps/config.bpf.h"
#include "maps/conntrack.h"
#include "maps/counter.h"
#include "maps/event.h"

/* What leaves the main line early. */
enum packet_class {
	PACKET_FLOW, /* has ports or needs none: a connection's */
	PACKET_FRAGMENT, /* not the first */
	PACKET_ICMP_ERROR,
	PACKET_NEIGHBOUR, /* ND or MLD */
	PACKET_ARP,
	PACKET_OTHER, /* not IP */
};

#define PACKET_MORE_FRAGMENTS (1u << 0)
#define PACKET_FRAGMENT_HEADER (1u << 1) /* IPv6 */

struct packet {
	struct bh_ct_key key;
	__u64 hash; /* of the key, whole; behind it, as in struct table_key */
	/* Two words, each written and read whole: what is written by halves is slow to read so. */
	__u16 l3; /* offset */
	__u8 mac_to[6], mac_from[6];
	__u16 fragment_at; /* where a fragment begins, bytes */
	__u32 generation; /* read once */
	__u32 now; /* tick */
	__u32 ifindex; /* whose hook this is */
	__u32 ingress; /* where the packet came in, 0: made here */
	__u32 length; /* of the frame */
	__u32 sequence, acknowledged; /* TCP */
	union {
		__u32 fragment_id; /* of a fragment */
		__u32 at; /* if `found`: where in the table its connection is */
	};
	__u16 l4_length; /* of what follows the IP headers */
	__u16 payload; /* TCP: of what follows its header */
	__u16 l4; /* offset */
	__u16 fragment_length; /* how much of the datagram it brings */
	__be16 port[2]; /* source, destination as in the header, at a multiple of 4 */
	__u8 hook; /* enum bh_hook */
	__u8 class; /* enum packet_class */
	__u8 version; /* 4 or 6 */
	__u8 protocol;
	__u8 from; /* which end of the key sent it */
	__u8 tcp_flags;
	__u8 type; /* ICMP type */
	__u8 hop_limit;
	__u8 flags; /* PACKET_* */
	__u8 audit; /* enum bh_reason for which an end that is only audited would have dropped it;
		     * of several, the first */
	/* One byte: 6.1 rounds the stack of each function up to 32. */
	__u8 reply : 1;
	__u8 enforced : 1; /* denied by the policy of an end that is known not to be audited */
	__u8 uncounted : 1; /* the destination's hook counts it */
	__u8 absent : 1; /* known to be of no connection */
	__u8 found : 1; /* the fast path has found its connection, and did not settle it */
	__u8 told : 2; /* what the kernel's conntrack says of it (translation.h); 0: it was not
			  asked */
	__u8 local : 2; /* what the kernel's routes say of the other end's address, of which no map
			   knows whose it is (local.h): LOCAL_*; 0: they were not asked */
	__u8 links : 2; /* whether all interfaces are guarded (links.h): LINKS_*; 0: not asked */
	__u32 verdict[2]; /* what was asked, by enum bh_direction */
};

#define LOCAL_HERE 1 /* the node's own, which has come since the maps were written */
#define LOCAL_ELSEWHERE 2

#define LINKS_GUARDED 1
#define LINKS_STRAY 2

static __always_inline void packet_audited(struct packet *p, int reason)
{
	if (!p->audit)
		p->audit = reason;
}

/* Sent to whoever listens: each receiver judges for itself, and nobody can answer from there. */
static __always_inline bool packet_is_group(const struct packet *p)
{
	const __u8 *to = (const __u8 *)(p->from ? p->key.addr[0] : p->key.addr[1]);

	return p->mac_to[0] & 1 || (p->version == 4 ? to[12] >= 224 : to[0] == 255);
}

/* In force; read once for each packet. */
static __always_inline __u32 packet_generation(void)
{
	__u32 zero = 0;
	struct bh_config *config = bpf_map_lookup_elem(&bh_config, &zero);

	return config ? READ_ONCE(config->generation) : 0;
}

/* An end's address, in the form of the other maps' keys. */
static __always_inline void packet_address(const struct packet *p, __u32 end, struct bh_addr *addr)
{
	__builtin_memcpy(addr, end ? p->key.addr[1] : p->key.addr[0], sizeof(*addr));
}

/* The same in place, for functions that do not use it as a map's key. */
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
