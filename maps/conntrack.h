/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ct: the connections of both IP versions, those whose handshake is not over among them. Pin
 * name `ct`. ARRAY of buckets, BPF_F_MMAPABLE. A connection is in one of the two buckets that its
 * key's hash names. The programs write it; the command adds what it imports, and marks as gone what
 * was an endpoint's that has left. A miss means that nothing is known: the packet is judged as the
 * first of its connection.
 *
 * No live connection makes room for another one. What has lapsed is swept by a timer of the
 * kernel's (bh_ct_sweeper), and a slot serves again once no program can still look at what it held.
 *
 * One key serves both directions: end 0 is the one with the lower address, then port (compared as
 * unsigned integers of the CPU's byte order, an IPv6 address as two 8-byte ones).
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/ct key 0 0 0 0
 */
#ifndef BULKHEAD_MAPS_CONNTRACK_H
#define BULKHEAD_MAPS_CONNTRACK_H

#include <linux/bpf.h>

#include "maps/types.h"

struct bh_ct_key {
	__be64 addr[2][2]; /* IPv4 mapped */
	__be16 port[2]; /* ICMP queries: the identifier, twice; 0 where there are none */
	__u8 protocol;
	__u8 kind; /* BH_CT_KIND() of an ICMP message; of TCP BH_CT_WAITING or 0; else 0 */
	__u16 scope; /* 0, BH_CT_LINK() or BH_CT_HOOK() */
};
_Static_assert(sizeof(struct bh_ct_key) == 40, "struct bh_ct_key");

/* @type: of the request; @end: the one that asks. So a request of the other end is no reply. */
#define BH_CT_KIND(type, end) ((type) << 1 | (end))

/* Of TCP: a SYN for the ports of a connection that is there. Its entry takes the place of the other
 * once its own handshake is over. */
#define BH_CT_WAITING 1

/*
 * Scopes. A link-local address (fe80::/10, 169.254.0.0/16) or none (0.0.0.0) means something on its
 * link only: the interface of a routed endpoint, or the bridge that interfaces are ports of. And a
 * hook that finds the connection of other ends under a key keeps one of its own. Two interfaces may
 * share a number; the words tell whose they are.
 */
#define BH_CT_LINK(ifindex) (0x8000 | ((ifindex)&0x3fff))
#define BH_CT_HOOK(ifindex) (0x4000 | ((ifindex)&0x3fff))
#define BH_CT_IS_HOOK(scope) (((scope)&0xc000) == 0x4000)

/*
 * Connection word: what the policy of one end said of the connection.
 *
 *   63        32 31 12 11   0
 *   generation    tag  flags
 *
 * 0: not judged yet. A word counts only for the connection and the ends that it was judged for:
 * the tag is made from the key and the interfaces of both ends (bh_ct_bound()). Words are written
 * by compare-and-swap, so that a late writer spoils nobody's entry.
 */
#define BH_CT_ALLOW (1u << 0)
#define BH_CT_AUDIT (1u << 1) /* allowed only because that end is audited */
#define BH_CT_NODE (1u << 2) /* the initiator is this node itself */
#define BH_CT_INITIATOR (1u << 3) /* the end that opened the connection */
#define BH_CT_LOCAL (1u << 4) /* both ends are endpoints of this node */
#define BH_CT_SERVICE (1u << 8) /* to a Service's address: judged where its backend shows */
#define BH_CT_BY_MAC (1u << 9) /* of an end that is who the frame's MAC said */
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

/*
 * Halves of addresses differ most in their last bytes: these are to stand lowest,
 * and a prefix's not where an interface's do.
 */
BH_CT_INLINE __u64 bh_ct_halves(__u64 prefix, __u64 interface)
{
	return __builtin_bswap64(prefix + (interface << 32 | interface >> 32));
}

/* @seed: odd, and not known to those who send. The key by its words. */
BH_CT_INLINE __u64 bh_ct_hash(__u64 seed, const __u64 word[5])
{
	__u64 mix = ((word[4] * seed + bh_ct_halves(word[0], word[3])) * seed +
		     bh_ct_halves(word[2], word[1])) *
		    seed;

	return (mix ^ mix >> 32) * BH_CT_MIX;
}

/* The first and the second bucket of a hash, of @buckets. */
BH_CT_INLINE __u32 bh_ct_first(__u64 hash, __u32 buckets)
{
	return (hash >> 32) * buckets >> 32;
}

BH_CT_INLINE __u32 bh_ct_second(__u64 hash, __u32 buckets)
{
	return (__u64)((__u32)hash * 0x9e3779b1u) * buckets >> 32;
}

/* The tag of words in place, from the hash of the key. */
BH_CT_INLINE __u32 bh_ct_hash_tag(__u64 hash)
{
	return hash >> (64 - BH_CT_TAG_BITS) << BH_CT_TAG_SHIFT;
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
#define BH_CT_CONTESTED (1u << 3) /* a SYN for its ports waits: BH_CT_WAITING */
#define BH_CT_ANSWERED (1u << 4) /* half-open: the responder's SYN-ACK was seen */
#define BH_CT_DENIED (1u << 5) /* was allowed, is no longer; `seen` stands still */
#define BH_CT_HALF (1u << 6) /* half-open: the handshake is not over */
#define BH_CT_LOOK (1u << 7) /* the next packet may be one that is only audited */

#define BH_CT_GONE (1u << 8) /* of nobody any more; waits to be swept */

/* Where packets of a local endpoint come from, once checked; a hint that saves the check. */
struct bh_ct_end {
	__u32 ifindex; /* 0: not local */
	__u8 mac[6];
	__u16 proven; /* when last a packet of this end's came to the other's hook (redirect.h) */
};
_Static_assert(sizeof(struct bh_ct_end) == 12, "struct bh_ct_end");

struct bh_ct {
	/* Connection words, by enum bh_direction: [BH_EGRESS] is the initiator, whose egress policy
	 * judges the connection, [BH_INGRESS] the responder. */
	__u64 verdict[2];
	struct bh_ct_end end[2]; /* in the order of the key */
	__u32 seen; /* tick of the last packet, about */
	__u32 state; /* BH_CT_FIN() and so on */
	/* TCP, by key order: half-open, the number of that end's SYN. Else what that end has
	 * acknowledged, up to 64 KB ago; 0: not known. */
	__u32 number[2];
	__u32 payer; /* whose share it counts in (share.h); 0: nobody's */
	/* TCP, half-open: the number of the responder's last SYN-ACK, which may be another than
	 * that of its first; 0: not known. */
	__u32 answer;
};
_Static_assert(sizeof(struct bh_ct) == 64, "struct bh_ct");

struct bh_ct_slot {
	struct bh_ct ct;
	struct bh_ct_key key;
};
_Static_assert(sizeof(struct bh_ct_slot) == 104, "struct bh_ct_slot");

#define BH_CT_SLOTS 8

/* Tags of slots: nothing is there; what was there is about to be free; somebody is filling it. From
 * BH_CT_TAKEN on: the connection of a hash. */
enum { BH_CT_FREE, BH_CT_DEAD, BH_CT_BUSY, BH_CT_TAKEN = 4 };

struct bh_ct_bucket {
	__u32 tag[BH_CT_SLOTS];
	struct bh_ct_slot slot[BH_CT_SLOTS];
};
_Static_assert(sizeof(struct bh_ct_bucket) == 864, "struct bh_ct_bucket");

BH_CT_INLINE __u32 bh_ct_slot_tag(__u64 hash)
{
	return (__u32)hash | BH_CT_TAKEN;
}

/* Slots are a quarter more than connections: of new ones in a full table, one of a hundred finds
 * both its buckets taken. */
#define BH_CT_BUCKETS(connections) ((__u32)((__u64)(connections)*4 / 25) + 1)
#define BH_CT_CONNECTIONS (1u << 18)

/* bh_ct_sweeper: ARRAY of one, the programs' own: the timer, and where it is. */
struct bh_ct_sweeper {
	struct bpf_timer timer;
	__u64 owner; /* whose program it runs: `instance` (kern/build.h) + 1; 0: none yet */
	__u32 bucket; /* the next */
	__u32 pad;
};

#endif
