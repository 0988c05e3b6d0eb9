/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A record of a reader's ring (maps/reader.h): a packet that was dropped (or would be, but for
 * audit), or a connection that was opened.
 */
#ifndef BULKHEAD_MAPS_EVENT_H
#define BULKHEAD_MAPS_EVENT_H

#include "maps/types.h"

enum bh_hook {
	BH_HOOK_TO_ENDPOINT,
	BH_HOOK_FROM_ENDPOINT,
	BH_HOOK_UPLINK,
	BH_HOOK_PORT,
	BH_HOOK_LEAVE, /* egress of an interface that is no endpoint's */
};

#define BH_EVENT_AUDIT (1u << 0) /* the packet passed by audit only */
#define BH_EVENT_REPLY (1u << 1) /* the packet's source is the connection's responder */
#define BH_EVENT_NO_PACKET (1u << 2) /* the frame is too broken to have addresses */

struct bh_event {
	__u64 time; /* ns of CLOCK_MONOTONIC_COARSE: the last tick, 1 to 10 ms ago at most */
	/* of the packet; of an ICMP error: those of the flow that it is about, in its direction */
	struct bh_addr source, destination;
	__be16 source_port, destination_port; /* 0: the protocol has none */
	__u8 protocol; /* IP protocol number */
	__u8 hook; /* enum bh_hook */
	__u8 reason; /* enum bh_reason */
	__u8 flags; /* BH_EVENT_* */
	__u32 verdict[2]; /* verdict words by enum bh_direction; 0: that end was not asked */
	__u32 generation; /* the generation that evaluated the packet */
	__u32 ifindex;
	__u32 length; /* bytes of the frame */
	__u32 more; /* of bh_past: like packets after the first one; else 0 */
};
_Static_assert(sizeof(struct bh_event) == 72, "struct bh_event");

#endif
