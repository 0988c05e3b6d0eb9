/* SPDX-License-Identifier: GPL-2.0-only */
/* The last drops of each endpoint, which need no reader (maps/past.h). */
#ifndef BULKHEAD_KERN_PAST_H
#define BULKHEAD_KERN_PAST_H

#include "packet.h"
#include "reader.h"
#include "maps/past.bpf.h"

/* Returns true if the packet is like that of the last record. */
static __always_inline bool past_matches(const struct bh_event *last, const struct packet *p,
					 __u32 said)
{
	const __u64 *from = p->from ? p->key.addr[1] : p->key.addr[0];
	const __u64 *to = p->from ? p->key.addr[0] : p->key.addr[1];
	const __u64 *source = (const __u64 *)&last->source;
	const __u64 *destination = (const __u64 *)&last->destination;

	return !((source[0] ^ from[0]) | (source[1] ^ from[1]) | (destination[0] ^ to[0]) |
		 (destination[1] ^ to[1]) | (last->destination_port ^ p->port[1]) |
		 (last->protocol ^ p->protocol) | (last->reason ^ (said & 255)) |
		 (last->ifindex ^ p->ifindex) | (!!(last->flags & BH_EVENT_AUDIT) ^ (said >> 8)));
}

/* Keeps the packet among the last drops of the endpoint at @place. @said: EVENTS_SAID(). */
static __always_inline void past_add(const struct packet *p, __u32 said, __u32 place)
{
	struct bh_past *past = bpf_map_lookup_elem(&bh_past, &place);
	struct bh_event *drop;
	__u64 now;

	if (!past)
		return;
	now = reader_now();
	drop = &past->drops[(READ_ONCE(past->next) - 1) & (BH_PAST_DROPS - 1)];
	if (past_matches(drop, p, said)) {
		drop->more++;
		WRITE_ONCE(drop->time, now);
		return;
	}
	drop = &past->drops[__sync_fetch_and_add(&past->next, 1) & (BH_PAST_DROPS - 1)];
	WRITE_ONCE(drop->time, 0);
	barrier();
	events_fill(drop, p, said);
	barrier();
	WRITE_ONCE(drop->time, now);
}

#endif
