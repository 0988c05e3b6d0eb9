/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ct4, bh_ct6: the connections; bh_half4, bh_half6: TCP connections whose
 * handshake is not over, in tables of their own so that a flood of them evicts
 * no established one. Pin names `ct4`, `ct6`, `half4`, `half6`. LRU_HASH. The
 * programs write them; the loader only writes entries that it imports, and
 * deletes what belonged to an endpoint that is gone. A miss means that nothing
 * is known: the packet is judged as the first of its connection.
 *
 * One key serves both directions: end 0 is the one with the lower address, then
 * port (compared as unsigned integers of the CPU's byte order, an IPv6 address
 * as two 8-byte ones).
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/ct4
 */
#ifndef BULKHEAD_MAPS_CONNTRACK_H
#define BULKHEAD_MAPS_CONNTRACK_H

#include "maps/types.h"

struct bh_ct_key4 {
	__be32 addr[2];
	__be16 port[2]; /* ICMP queries: the identifier, twice; 0 where there are none */
	__u8 protocol;
	__u8 kind; /* BH_CT_KIND() of an ICMP message, else 0 */
	__u16 scope; /* 0, BH_CT_LINK() or BH_CT_HOOK() */
};
_Static_assert(sizeof(struct bh_ct_key4) == 16, "struct bh_ct_key4");

struct bh_ct_key6 {
	__be64 addr[2][2];
	__be16 port[2];
	__u8 protocol;
	__u8 kind;
	__u16 scope;
};
_Static_assert(sizeof(struct bh_ct_key6) == 40, "struct bh_ct_key6");

/* @type: of the request; @end: the one that asks. So a request of the other end is no reply. */
#define BH_CT_KIND(type, end) ((type) << 1 | (end))

/*
 * Scopes. A link-local address (fe80::/10, 169.254.0.0/16) or none (0.0.0.0) means something on its
 * link only: the interface of a routed endpoint, or the bridge that interfaces are ports of. And a
 * hook that finds the connection of other ends under a key keeps one of its own. Two interfaces may
 * share a number; the words tell whose they are.
 */
#define BH_CT_LINK(ifindex) (0x8000 | ((ifindex)&0x3fff))
#define BH_CT_HOOK(ifindex) (0x4000 | ((ifindex)&0x3fff))

/*
 * Connection word: what the policy of one end said of the connection.
 *
 *   63        32 31 12 11   0
 *   generation    tag  flags
 *
 * 0: not judged yet. A word counts only for the connection and the ends that it was judged for:
 * the tag is made from the key and the interfaces of both ends (bh_ct_bound()), so that a word
 * read while the kernel gives the entry to another key counts for neither. Words are written by
 * compare-and-swap, so that a late writer spoils nobody's entry.
 */
#define BH_CT_ALLOW (1u << 0)
#define BH_CT_AUDIT (1u << 1) /* allowed only because that end is audited */
#define BH_CT_NODE (1u << 2) /* the initiator is this node itself */
#define BH_CT_INITIATOR (1u << 3) /* the end that opened the connection */
#define BH_CT_LOCAL (1u << 4) /* both ends are endpoints of this node */
#define BH_CT_SERVICE (1u << 8) /* to a Service's address: judged where its backend shows */
#define BH_CT_FLAGS 0xfffu
#define BH_CT_TAG_BITS 20
#define BH_CT_TAG_SHIFT 12

#define BH_CT_MIX 0x314320aa7da5b1efull /* by trial, as unit_conntrack tries it */
#define BH_CT_INLINE static inline __attribute__((always_inline))

/* The tag's place in a connection word. Products carry upwards only: the tag is their top. */
BH_CT_INLINE __u32 bh_ct_tag(__u64 a, __u64 b, __u64 rest)
{
	__u64 mix = ((rest * BH_CT_MIX + a) * BH_CT_MIX + b) * BH_CT_MIX;

	return mix >> (64 - BH_CT_TAG_BITS) << BH_CT_TAG_SHIFT;
}

BH_CT_INLINE __u64 bh_ct_rest(const __be16 port[2], __u8 protocol, __u8 kind, __u16 scope)
{
	return port[0] | (__u64)port[1] << 16 | (__u64)protocol << 32 | (__u64)kind << 40 |
	       (__u64)scope << 48;
}

BH_CT_INLINE __u32 bh_ct_tag4(const struct bh_ct_key4 *key)
{
	return bh_ct_tag(key->addr[0], key->addr[1],
			 bh_ct_rest(key->port, key->protocol, key->kind, key->scope));
}

/*
 * Halves of addresses differ most in their last bytes: these are to stand lowest,
 * and a prefix's not where an interface's do.
 */
BH_CT_INLINE __u64 bh_ct_halves(__u64 prefix, __u64 interface)
{
	return __builtin_bswap64(prefix + (interface << 32 | interface >> 32));
}

BH_CT_INLINE __u32 bh_ct_tag6(const struct bh_ct_key6 *key)
{
	return bh_ct_tag(bh_ct_halves(key->addr[0][0], key->addr[1][1]),
			 bh_ct_halves(key->addr[1][0], key->addr[0][1]),
			 bh_ct_rest(key->port, key->protocol, key->kind, key->scope));
}

/* The tag of a word, of the key's: that of a connection between these interfaces, in the order of
 * the key; 0: not an endpoint's of this node. */
BH_CT_INLINE __u32 bh_ct_bound(__u32 tag, __u32 ifindex0, __u32 ifindex1)
{
	return tag ^ (ifindex0 + ifindex1 * 1021) << BH_CT_TAG_SHIFT;
}

static inline __u64 bh_ct_word(__u32 generation, __u32 tag, __u32 flags)
{
	return (__u64)generation << 32 | tag | flags;
}

static inline __u32 bh_ct_generation(__u64 word)
{
	return word >> 32;
}

/* Times are in ticks of 64 jiffies: coarse, so that busy flows seldom write theirs. */
#define BH_TICK_SHIFT 6

#define BH_CT_FIN(end) (1u << (end)) /* that end sent FIN, by key order */
#define BH_CT_FINS (BH_CT_FIN(0) | BH_CT_FIN(1))
#define BH_CT_RST (1u << 2)
#define BH_CT_SUPERSEDED (1u << 3) /* its responder answered a new SYN */
#define BH_CT_ANSWERED (1u << 4) /* half-open: the responder's SYN-ACK was seen */
#define BH_CT_DENIED (1u << 5) /* was allowed, is no longer; `seen` stands still */
#define BH_CT_LOOK (1u << 7) /* the next packet may be one that is only audited */

/* Where packets of a local endpoint come from, once checked; a hint that saves the check. */
struct bh_ct_end {
	__u32 ifindex; /* 0: not local */
	__u8 mac[6];
	__u16 proven; /* when last a packet of this end's came to the other's hook (shortcut.h) */
};
_Static_assert(sizeof(struct bh_ct_end) == 12, "struct bh_ct_end");

struct bh_ct {
	/* Connection words, by enum bh_direction: [BH_EGRESS] is the initiator, whose egress policy
	 * judges the connection, [BH_INGRESS] the responder. */
	__u64 verdict[2];
	struct bh_ct_end end[2]; /* in the order of the key */
	__u32 seen; /* tick of the last packet, about */
	__u32 state; /* BH_CT_FIN() and so on */
};
_Static_assert(sizeof(struct bh_ct) == 48, "struct bh_ct");

struct bh_half {
	struct bh_ct ct;
	__u32 number[2]; /* initial sequence numbers, by enum bh_direction */
};
_Static_assert(sizeof(struct bh_half) == 56, "struct bh_half");

#endif
