/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_events: verdicts, as they are given. Pin name `events`. RINGBUF. The
 * programs write one record for each packet that they drop (or would, where only
 * audited) and each connection that they let open, as far as the rate and the
 * sampling set at load allow, and never wake the reader: it polls. The ring has one reader.
 */
#ifndef BULKHEAD_MAPS_EVENT_H
#define BULKHEAD_MAPS_EVENT_H

#include "maps/types.h"

enum bh_hook {
	BH_HOOK_TO_ENDPOINT,
	BH_HOOK_FROM_ENDPOINT,
	BH_HOOK_UPLINK,
	BH_HOOK_PORT,
	BH_HOOK_LEAVE, /* egress of whatever is no endpoint's */
};

#define BH_EVENT_AUDIT (1u << 0) /* passed: what it belongs to is only audited */
#define BH_EVENT_REPLY (1u << 1) /* the packet's source is the connection's responder */
#define BH_EVENT_NO_PACKET (1u << 2) /* too broken to have addresses */

struct bh_event {
	__u64 time; /* CLOCK_MONOTONIC_COARSE, ns: the last tick, 1 to 10 ms ago at most */
	struct bh_addr source, destination; /* of the packet */
	__be16 source_port, destination_port; /* 0 where there are none */
	__u8 protocol; /* IP protocol number */
	__u8 hook; /* enum bh_hook */
	__u8 reason; /* enum bh_reason */
	__u8 flags; /* BH_EVENT_* */
	__u32 verdict[2]; /* verdict words by enum bh_direction, 0: that end was not asked */
	__u32 generation; /* that it was judged at */
	__u32 ifindex;
	__u32 length; /* of the frame */
	__u32 suppressed; /* records that the rate, or a full ring, kept back on this CPU since the
			     last one */
};
_Static_assert(sizeof(struct bh_event) == 72, "struct bh_event");

/* bh_event_budget: PERCPU_ARRAY of one, the programs' own. Not pinned to be read. */
struct bh_event_budget {
	__u64 tick; /* when the budget was last filled */
	__u32 left;
	__u32 suppressed; /* records kept back since the last one written */
	__u32 sample; /* records since the last one kept */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_event_budget) == 24, "struct bh_event_budget");

#endif
