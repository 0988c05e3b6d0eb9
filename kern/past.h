/* SPDX-License-Identifier: GPL-2.0-only */
/* The last drops of each endpoint, which need no reader (maps/past.h). */
#ifndef BULKHEAD_KERN_PAST_H
#define BULKHEAD_KERN_PAST_H

#include "packet.h"
#include "reader.h"
#include "maps/past.bpf.h"

/* Of the word EVENT_PORTS: destination port, protocol, reason and BH_EVENT_AUDIT. */
#define PAST_ALIKE (0xffffull << 16 | 0xffull << 32 | 0xffull << 48 | (__u64)BH_EVENT_AUDIT << 56)

/* Returns true if the packet is like that of the last record. */
static __always_inline bool past_matches(const struct bh_event *last, const struct bh_event *event)
{
	const __u64 *had = (const __u64 *)&last->source, *words = (const __u64 *)&event->source;

	return !((had[0] ^ words[0]) | (had[1] ^ words[1]) | (had[2] ^ words[2]) |
		 (had[3] ^ words[3]) | ((had[EVENT_PORTS] ^ words[EVENT_PORTS]) & PAST_ALIKE) |
		 (last->ifindex ^ event->ifindex));
}

/* Keeps the packet among the last drops of the endpoint at @place. */
static __always_inline void past_add(const struct bh_event *event, __u32 place)
{
	struct bh_past *past = bpf_map_lookup_elem(&bh_past, &place);
	struct bh_event *drop;

	if (!past)
		return;
	drop = &past->drops[(READ_ONCE(past->next) - 1) & (BH_PAST_DROPS - 1)];
	if (past_matches(drop, event)) {
		drop->more++;
		WRITE_ONCE(drop->time, event->time);
		return;
	}
	drop = &past->drops[__sync_fetch_and_add(&past->next, 1) & (BH_PAST_DROPS - 1)];
	WRITE_ONCE(drop->time, 0);
	barrier();
	events_copy(drop, event);
	barrier();
	WRITE_ONCE(drop->time, event->time);
}

#endif
