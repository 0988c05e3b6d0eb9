/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domain names in egress rules. Only the loader writes these maps: no packet adds an entry.
 *
 * bh_domains: the names and wildcards that the policies of this node use. Pin name `domains`.
 * HASH, key the keyed hash of a name (domain_hash.h). Answers about a name that matches no entry
 * teach nothing (dns.h).
 *
 * bh_domain_peers: the segment of an address that an endpoint has learned by a name. Pin name
 * `domain_peers`. HASH. Each policy that uses names tells addresses apart by their prefix and by
 * the names they were learned by: for a name, the segment of a prefix and the common class of a
 * subject, the entry has the slot of the segment that such addresses have to the subject. A miss
 * means that no rule uses the name for such addresses. An entry never changes once its segments are
 * active.
 *
 * A name applies only if policy denies without it. Names are in Accept rules only, so the flow
 * passes if policy allows it for the segment of one of the names.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/domain_peers
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
	__u32 segment; /* ID (bh_segment.id) of the prefix' segment */
	__u32 class; /* bh_segment.common[BH_EGRESS] of the subject */
};
_Static_assert(sizeof(struct bh_domain_key) == 16, "struct bh_domain_key");

struct bh_domain_segment {
	__u32 slot; /* index in bh_segments */
	__u32 id; /* of the segment in that slot */
};
_Static_assert(sizeof(struct bh_domain_segment) == 8, "struct bh_domain_segment");

#endif
