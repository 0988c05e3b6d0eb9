/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_ct: the connections of both IP versions, half-open ones included. Pin name `ct`. ARRAY of
 * groups of 128 buckets, BPF_F_MMAPABLE. A connection is in one of the two buckets that its key's
 * hash names. The programs write it. The command adds connections that it imports, and voids those
 * of an endpoint that has gone. A miss means that the connection is not known: the packet is
 * evaluated as its first.
 *
 * A kernel timer (bh_ct_sweeper) frees connections that have timed out. When an endpoint's share
 * is used up (share.h), its next connection replaces the entry whose loss costs least. The order
 * is: closed; unanswered for `unanswered-stay`; one question and one answer; unanswered for less
 * than that; idle for a quarter of the timeout (UDP: for `unanswered-stay`). Among equals the one
 * that was silent longest goes first. A connection in use is never replaced, nor is one that was
 * answered and that policy denies by now.
 *
 * Endpoints, the node and whoever calls them may fill the table. Who fills it loses entries of the
 * share that its connections count in; nobody loses those below another's floor.
 *
 * A slot is used again at once. The program that fills the slot stores the next incarnation number
 * in `state`, so that a compare-and-swap by a program that found the former connection fails.
 *
 * One key serves both directions. End 0 is the end with the lower address, then the lower port
 * (compared as unsigned integers of the CPU's byte order, an IPv6 address as two 8-byte ones).
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/ct key 0 0 0 0 | head
 */
#ifndef BULKHEAD_MAPS_CONNTRACK_H
#define BULKHEAD_MAPS_CONNTRACK_H

#include <linux/bpf.h>

#include "maps/types.h"

struct bh_ct_key {
	__be64 addr[2][2]; /* IPv4 addresses are mapped */
	__be16 port[2]; /* of ICMP queries: the identifier in both; 0: the protocol has none */
	__u8 protocol;
	__u8 kind; /* ICMP: BH_CT_KIND() of the message; TCP: BH_CT_WAITING or 0; else 0 */
	__u16 scope; /* 0, BH_CT_LINK() or BH_CT_HOOK() */
};
_Static_assert(sizeof(struct bh_ct_key) == 40, "struct bh_ct_key");

/* @type: the request's ICMP type; @end: the end that sends it. So a request of the other end is
 * no reply. */
#define BH_CT_KIND(type, end) ((type) << 1 | (end))

/* TCP: a SYN for the ports of a connection that exists. This entry replaces the other one when
 * its own handshake is over. */
#define BH_CT_WAITING 1

/*
 * Scopes. A link-local address (fe80::/10, 169.254.0.0/16) or none (0.0.0.0) has a meaning on
 * its link only: the interface of a routed endpoint, or the bridge that interfaces are ports of.
 * A hook that finds a connection of other ends under its key keeps an entry of its own. Two
 * interfaces may share a scope's number; the words tell whose connection it is.
 */
#define BH_CT_LINK(ifindex) (0x8000 | ((ifindex)&0x3fff))
#define BH_CT_HOOK(ifindex) (0x4000 | ((ifindex)&0x3fff))
#define BH_CT_IS_HOOK(scope) (((scope)&0xc000) == 0x4000)

/*
 * Connection word: the verdict of one end's policy on the connection.
 *
 *   63        32 31 12 11   0
 *   generation    tag  flags
 *
 * 0: not evaluated yet. A word counts only for the connection and the ends that it was evaluated
 * for: the tag is made from the key and the interfaces of both ends (bh_ct_bound()). Words are
 * written by compare-and-swap, so that a late write cannot damage another connection's entry.
 */
#define BH_CT_ALLOW (1u << 0)
#define BH_CT_AUDIT (1u << 1) /* allowed only because the policy's subject is in audit */
#define BH_CT_NODE (1u << 2) /* the initiator is this node itself */
#define BH_CT_INITIATOR (1u << 3) /* the end that opened the connection */
#define BH_CT_LOCAL (1u << 4) /* both ends are endpoints of this node */
/* The host egress hook's entry of a sender whose address the node has replaced: it serves only
 * packets that came in by the sender's interface. */
#define BH_CT_BY_INGRESS (1u << 5)
/* UDP, or TCP of an isolated endpoint, between an endpoint and an address of this node, which may
 * be masquerading: the entry serves no packet before the kernel's conntrack has said whose the
 * packet is. SCTP with such an address or a Service's, of which nobody says that. */
#define BH_CT_ASKS (1u << 6)
/* A connection to a DNS resolver: no packet of it takes the fast path, so that answers teach
 * (dns.h). */
#define BH_CT_DNS (1u << 7)
#define BH_CT_SERVICE (1u << 8) /* a call to a Service: evaluated where its backend is known */
#define BH_CT_BY_MAC (1u << 9) /* the end was identified by the frame's MAC */
#define BH_CT_TO_NODE (1u << 10) /* the responder is this node */
#define BH_CT_FLAGS 0xfffu
#define BH_CT_TAG_BITS 20
#define BH_CT_TAG_SHIFT 12

#define BH_CT_MIX 0x314320aa7da5b1efull /* found by trial; unit_conntrack measures it */
#define BH_CT_INLINE static inline __attribute__((always_inline))

/* Returns the tag, at its place in a connection word. A product's upper bits depend on most of
 * its factors' bits, so the tag is taken from the top. */
BH_CT_INLINE __u32 bh_ct_tag(__u64 a, __u64 b, __u64 rest)
{
	__u64 mix = ((rest * BH_CT_MIX + a) * BH_CT_MIX + b) * BH_CT_MIX;

	return mix >> (64 - BH_CT_TAG_BITS) << BH_CT_TAG_SHIFT;
}

/*
 * Combines the halves of an address. Addresses differ most in their last bytes, so these become
 * the lowest bits, and those of a prefix others.
 */
BH_CT_INLINE __u64 bh_ct_halves(__u64 prefix, __u64 interface)
{
	return __builtin_bswap64(prefix + (interface << 32 | interface >> 32));
}

/* Hashes the key's words. @seed: odd, and unknown to the senders of packets. */
BH_CT_INLINE __u64 bh_ct_hash(__u64 seed, const __u64 word[5])
{
	__u64 mix = ((word[4] * seed + bh_ct_halves(word[0], word[3])) * seed +
		     bh_ct_halves(word[2], word[1])) *
		    seed;

	return (mix ^ mix >> 32) * BH_CT_MIX;
}

/* Return the first and the second bucket of a hash. */
BH_CT_INLINE __u32 bh_ct_first(__u64 hash, __u32 buckets)
{
	return (hash >> 32) * buckets >> 32;
}

BH_CT_INLINE __u32 bh_ct_second(__u64 hash, __u32 buckets)
{
	return (__u64)((__u32)hash * 0x9e3779b1u) * buckets >> 32;
}

/* Returns a key's part of the tag of connection words, from bits of the hash that choose neither
 * bucket: connections of one slot, one after the other, have different tags. */
BH_CT_INLINE __u32 bh_ct_hash_tag(__u64 hash)
{
	return (__u32)(hash >> 12) >> BH_CT_TAG_SHIFT << BH_CT_TAG_SHIFT;
}

/* Returns the tag of a connection word, from that of the key and the interfaces of both ends in
 * the key's order; 0: the end is no endpoint of this node. */
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

/* Times are in ticks of 64 jiffies. They are coarse, so that busy flows seldom write theirs. */
#define BH_TICK_SHIFT 6

#define BH_CT_FIN(end) (1u << (end)) /* that end sent a FIN; ends in the key's order */
#define BH_CT_FINS (BH_CT_FIN(0) | BH_CT_FIN(1))
#define BH_CT_RST (1u << 2)
#define BH_CT_CONTESTED (1u << 3) /* a SYN for the same ports waits: BH_CT_WAITING */
#define BH_CT_ANSWERED (1u << 4) /* TCP, with BH_CT_HALF: the responder has sent its SYN-ACK */
#define BH_CT_DENIED (1u << 5) /* policy denies the connection by now; `seen` does not advance */
/* TCP: half-open, the handshake is not over. Other protocols: the responder has sent nothing. */
#define BH_CT_HALF (1u << 6)
#define BH_CT_LOOK (1u << 7) /* the next packet may be one that passes by audit only */
#define BH_CT_GONE (1u << 8) /* the slot is being freed */
/* Not TCP: the responder has answered, and the initiator has sent nothing since. */
#define BH_CT_ONCE (1u << 9)
/* A call to a Service, denied where its backend showed: the next reply is evaluated by its backend
 * (kern/doubt.h). */
#define BH_CT_BACKEND (1u << 10)
#define BH_CT_STATE 0xfffu /* all of these bits */
/* The upper bits count the connections that the slot has held: its incarnation. */
#define BH_CT_INCARNATION (BH_CT_STATE + 1)

/* Bits of bh_ct.payer beside the interface. */
#define BH_CT_SURPLUS (1u << 31) /* beyond its endpoint's floor when it was added (share.h) */
/* The host egress hook's entry (kern/host_egress.h): it saves an evaluation, and its loss costs
 * one. */
#define BH_CT_LEAVES (1u << 30)
#define BH_CT_PAYER(payer) ((payer) & ~(BH_CT_SURPLUS | BH_CT_LEAVES))

/* A local endpoint's interface, once checked: a hint that saves the next check. */
struct bh_ct_end {
	__u32 ifindex; /* 0: the end is not local */
	/* 0: unknown; BH_CT_LEARNS(), 6 bytes of it: any MAC is right in the end's first packet */
	__u8 mac[6];
	/* tick of the last packet that went from this end to the other's hook (redirect.h) */
	__u16 proven;
};
_Static_assert(sizeof(struct bh_ct_end) == 12, "struct bh_ct_end");

/* The MAC of an endpoint behind no bridge whose MAC no map has. It is that of a group, which no
 * sender has. @changes: of bh_config; after another change the first packet is evaluated anew. */
#define BH_CT_LEARNS(changes) ((__u64)(changes) << 8 | 1)

struct bh_ct {
	/* Connection words by enum bh_direction: [BH_EGRESS] of the initiator, whose egress policy
	 * evaluates the connection, [BH_INGRESS] of the responder. */
	__u64 verdict[2];
	struct bh_ct_end end[2]; /* in the key's order */
	__u32 seen; /* tick of the last packet, or shortly before */
	__u32 state; /* BH_CT_FIN() and so on, and the incarnation */
	/* TCP, in the key's order. Half-open: the sequence number of that end's SYN.
	 * Established: a number that the end has acknowledged, up to 64 KB old, and what the flow
	 * cache has passed since; 0: unknown. */
	__u32 number[2];
	/* key in bh_shares of the share that the connection counts in, and BH_CT_SURPLUS,
	 * BH_CT_LEAVES */
	__u32 payer;
	/* TCP, half-open: the sequence number of the responder's last SYN-ACK, which may differ
	 * from its first; 0: unknown. After one FIN: the number behind it. */
	__u32 answer;
};
_Static_assert(sizeof(struct bh_ct) == 64, "struct bh_ct");

struct bh_ct_slot {
	struct bh_ct ct;
	struct bh_ct_key key;
};
_Static_assert(sizeof(struct bh_ct_slot) == 104, "struct bh_ct_slot");

#define BH_CT_SLOTS 8

/* Tags of slots: empty; being filled or freed by one program. With the bit BH_CT_TAKEN: the tag of
 * a connection. */
enum { BH_CT_FREE, BH_CT_BUSY = 2, BH_CT_TAKEN = 4 };

/* For a moment, a new connection's tag is a proposed one, which no lookup finds: another program
 * may be inserting a connection of the same key. It is neither BH_CT_FREE nor BH_CT_BUSY. */
#define BH_CT_PROPOSED(tag) (((tag) & ~BH_CT_TAKEN) | 1)
/* the bits that a connection's tag and its proposed tag have in common */
#define BH_CT_TAG_OF_KEY (~(BH_CT_TAKEN | 1u))

/* Returns true if the slot of a tag has a connection, which may still be a proposed one. */
BH_CT_INLINE _Bool bh_ct_is_filled(__u32 tag)
{
	return tag & (BH_CT_TAKEN | 1u);
}

struct bh_ct_bucket {
	__u32 tag[BH_CT_SLOTS];
};
_Static_assert(sizeof(struct bh_ct_bucket) == 32, "struct bh_ct_bucket");

#define BH_CT_GROUP 128 /* buckets */

/*
 * Every search reads tags, and most searches read one slot. So the tags of a group lie together,
 * in a page of their own: those of 262,144 connections take 1.3 MB, which the CPU's caches and its
 * TLB can hold, and their slots 34 MB.
 */
struct bh_ct_group {
	struct bh_ct_bucket bucket[BH_CT_GROUP];
	struct bh_ct_slot slot[BH_CT_GROUP][BH_CT_SLOTS];
};
_Static_assert(sizeof(struct bh_ct_group) == 27 * 4096, "struct bh_ct_group");

/* Return a bucket of the mapped table, and its slots. */
BH_CT_INLINE struct bh_ct_bucket *bh_ct_bucket(struct bh_ct_group *table, __u32 bucket)
{
	return &table[bucket / BH_CT_GROUP].bucket[bucket % BH_CT_GROUP];
}

BH_CT_INLINE struct bh_ct_slot *bh_ct_slots(struct bh_ct_group *table, __u32 bucket)
{
	return table[bucket / BH_CT_GROUP].slot[bucket % BH_CT_GROUP];
}

BH_CT_INLINE __u32 bh_ct_slot_tag(__u64 hash)
{
	return (__u32)hash | BH_CT_TAKEN;
}

/* There are at least 25 % more slots than connections. */
#define BH_CT_BUCKETS(connections) ((__u32)((__u64)(connections)*4 / 25) + 1)
#define BH_CT_GROUPS(connections) ((BH_CT_BUCKETS(connections) + BH_CT_GROUP - 1) / BH_CT_GROUP)
#define BH_CT_CONNECTIONS (1u << 18)

/* bh_ct_sweeper: ARRAY of one, private to the programs: the timer, and its position. */
struct bh_ct_sweeper {
	struct bpf_timer timer;
	/* which load's programs the timer runs: `instance` (kern/build.h) + 1; 0: none yet */
	__u64 owner;
	__u32 bucket; /* the next bucket to sweep */
	/* other programs began this sweep, maybe in another table: its counts do not count */
	__u32 partial;
};

#endif
