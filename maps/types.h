/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types that several maps share: addresses, assignment words and verdict words.
 *
 * The headers of this folder are the contract between the BPF programs and the command. Both
 * include them, and neither knows anything else about the other's data. `<map>.h` has the key
 * and the value, `<map>.bpf.h` the only definition of the map.
 */
#ifndef BULKHEAD_MAPS_TYPES_H
#define BULKHEAD_MAPS_TYPES_H

#include <linux/types.h>

/* An IPv4 address is mapped (::ffff:a.b.c.d), so that one key serves both IP versions. */
struct bh_addr {
	__be32 word[4];
};
_Static_assert(sizeof(struct bh_addr) == 16, "struct bh_addr");

enum bh_direction { BH_INGRESS, BH_EGRESS };

/* In the order in which they are asked. */
enum bh_tier { BH_TIER_ADMIN, BH_TIER_NETWORK_POLICY, BH_TIER_BASELINE, BH_TIER_DEFAULT };

/*
 * Assignment word: the segment of an address from a generation on. One aligned 8-byte store
 * writes it and one load reads it, so no reader sees half of it.
 *
 *   63        32 31     20 19          0
 *   generation   variation segment slot
 *
 * 0 means "none". A slot is an index of bh_segments, from 1; 0: from this generation on the address
 * has no segment. A key holds two words. At generation G the word with the highest generation not
 * above G is valid. An endpoint that is about to come, or has just gone, has the slot of its
 * covering prefix, the prefix around its address, and the variation BH_VARIATION_COVER: it counts
 * as an address of that prefix, not as an endpoint.
 */
#define BH_SLOT_BITS 20
#define BH_VARIATION_BITS 12
#define BH_SLOT_MAX ((1u << BH_SLOT_BITS) - 1)
#define BH_VARIATION_COVER ((1u << BH_VARIATION_BITS) - 1)
#define BH_VARIATION_MAX (BH_VARIATION_COVER - 1)

static inline __u64 bh_assignment(__u32 generation, __u32 slot, __u32 variation)
{
	return (__u64)generation << 32 | variation << BH_SLOT_BITS | slot;
}

static inline __u32 bh_assignment_generation(__u64 word)
{
	return word >> 32;
}

static inline __u32 bh_assignment_slot(__u64 word)
{
	return word & BH_SLOT_MAX;
}

static inline __u32 bh_assignment_variation(__u64 word)
{
	return (__u32)word >> BH_SLOT_BITS;
}

static inline _Bool bh_assignment_is_cover(__u64 word)
{
	return bh_assignment_variation(word) == BH_VARIATION_COVER;
}

/* Returns the word that is valid at @generation; 0: neither is. */
static inline __u64 bh_assignment_at(__u64 a, __u64 b, __u32 generation)
{
	_Bool has_a = a && bh_assignment_generation(a) <= generation;
	_Bool has_b = b && bh_assignment_generation(b) <= generation;

	if (has_a && has_b)
		return bh_assignment_generation(a) > bh_assignment_generation(b) ? a : b;
	return has_a ? a : has_b ? b : 0;
}

/*
 * Verdict word: policy's answer about one flow in one direction.
 *
 *   31     30 29  28 27  26     0
 *   allow  tier   audit  rule
 *
 * The rule is its ID in the compiled policy, from 1. 0: no rule decided, but isolation by a
 * NetworkPolicy, or the default.
 *
 * Audit is 0, or 1 + the tier in which policies that are only audited would deny the flow if they
 * were enforced. `rule` is then the ID of an audit record of the compiled policy, which names both
 * the rule that decides and those policies. Rules and audit records share one range of IDs; a node
 * numbers the audit records of its own segments from BH_RULE_LOCAL on.
 */
#define BH_VERDICT_ALLOW (1u << 31)
#define BH_TIER_SHIFT 29
#define BH_AUDIT_SHIFT 27
#define BH_RULE_MAX ((1u << BH_AUDIT_SHIFT) - 1)
#define BH_RULE_LOCAL (1u << (BH_AUDIT_SHIFT - 1))

static inline __u32 bh_verdict(_Bool allow, enum bh_tier tier, __u32 rule)
{
	return (allow ? BH_VERDICT_ALLOW : 0) | (__u32)tier << BH_TIER_SHIFT | rule;
}

static inline _Bool bh_verdict_allow(__u32 verdict)
{
	return verdict >> 31;
}

static inline enum bh_tier bh_verdict_tier(__u32 verdict)
{
	return (enum bh_tier)(verdict >> BH_TIER_SHIFT & 3);
}

static inline __u32 bh_verdict_rule(__u32 verdict)
{
	return verdict & BH_RULE_MAX;
}

/* Returns @verdict with an audit record in place of its rule. @tier: of the audited denial. */
static inline __u32 bh_verdict_audited(__u32 verdict, enum bh_tier tier, __u32 record)
{
	return (verdict & ~BH_RULE_MAX) | ((__u32)tier + 1) << BH_AUDIT_SHIFT | record;
}

/* Returns 1 + the tier in which audited policies would deny; 0: they would not. */
static inline __u32 bh_verdict_audit(__u32 verdict)
{
	return verdict >> BH_AUDIT_SHIFT & 3;
}

/*
 * Refers to a port list.
 *   count 0               every protocol and port has the same verdict: `at` is the verdict word
 *   count BH_PORTS_NAMED  the rules use port names: `at` is a list ID. List ID and the
 *                         destination's resolution (bh_variations) are the key in bh_named
 *   other counts          `at` is the index in bh_ports of `count` intervals
 */
struct bh_ports_ref {
	__u32 at;
	__u32 count;
};
_Static_assert(sizeof(struct bh_ports_ref) == 8, "struct bh_ports_ref");
#define BH_PORTS_NAMED 0xffffffffu

/*
 * One number line for all ports that policy can tell apart: those of the protocols of
 * protocols.def, one protocol after another, then one point for all other protocols (only rules
 * that name neither port nor protocol match it).
 */
enum {
#define PROTOCOL(name, ...) BH_PROTOCOL_##name,
#include "maps/protocols.def"
	BH_PROTOCOLS,
};
enum {
#define PROTOCOL(name, ...) BH_POINT_##name = BH_PROTOCOL_##name << 16,
#include "maps/protocols.def"
	BH_POINT_OTHER = BH_PROTOCOLS << 16,
};

/* The point of a port of a protocol, which is an IP protocol number (IANA). */
static inline __attribute__((always_inline)) __u32 bh_point(__u8 protocol, __u32 port)
{
	switch (protocol) {
#define PROTOCOL(name, number, ...) \
	case number:                \
		return BH_POINT_##name + port;
#include "maps/protocols.def"
	default:
		return BH_POINT_OTHER;
	}
}

#endif
