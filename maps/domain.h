/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domain names in egress rules. Only the loader writes these maps: no packet adds an entry.
 *
 * bh_domains: the names and wildcards that the policies of this node use. Pin name `domains`.
 * HASH, key the keyed hash of a name (domain_hash.h). Answers about a name that matches no entry
 * teach nothing (dns.h).
 *
 * bh_by_domain: the segment as which an endpoint is evaluated for a destination that it has learned
 * by a name, be that an endpoint or an address outside. Pin name `by_domain`. HASH. In that segment
 * the rules that have the name match every peer. Look-ups are by the subject's own class, then by
 * its common one; a miss in both means that no rule of the subject has the name. An entry never
 * changes once its segment is active.
 *
 * A name applies only if policy denies without it. Names are in Accept rules only, so the flow
 * passes if policy allows it as the segment of one of the names. It is about egress alone: the
 * destination's ingress decides as always.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/by_domain
 */
#ifndef BULKHEAD_MAPS_DOMAIN_H
#define BULKHEAD_MAPS_DOMAIN_H

#include "maps/types.h"

struct bh_domain {
	__u32 labels; /* of the name, or of the wildcard without its `*.` */
	__u32 wildcard; /* 1: every name below it, and not the name itself */
};
_Static_assert(sizeof(struct bh_domain) == 8, "struct bh_domain");

struct bh_domain_key {
	__u64 domain; /* key in bh_domains */
	__u32 class; /* bh_segment.own or .common[BH_EGRESS] of the subject */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_domain_key) == 16, "struct bh_domain_key");

struct bh_domain_segment {
	__u32 slot; /* index in bh_segments */
	__u32 id; /* of the segment in that slot */
};
_Static_assert(sizeof(struct bh_domain_segment) == 8, "struct bh_domain_segment");

#endif
