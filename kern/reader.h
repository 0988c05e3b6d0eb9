/* SPDX-License-Identifier: GPL-2.0-only */
/* The filters of event readers (maps/reader.h). */
#ifndef BULKHEAD_KERN_READER_H
#define BULKHEAD_KERN_READER_H

#include "packet.h"
#include "maps/event.h"
#include "maps/reader.bpf.h"

static __always_inline struct bh_readers *reader_all(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_readers, &zero);
}

/* Returns the readers; NULL: there is none. */
static __always_inline struct bh_readers *reader_any(void)
{
	struct bh_readers *readers = reader_all();

	return readers && unlikely(READ_ONCE(readers->active)) ? readers : NULL;
}

/* Returns the time of a record. The clock of records advances once a jiffy, and to read it costs
 * more than most of a record. If another program of this CPU interrupts, the jiffy stored last is
 * the older one, and is not this one any more. */
static __always_inline __u64 reader_now(void)
{
	__u64 jiffy = bpf_jiffies64();
	__u32 zero = 0;
	struct bh_written *written = bpf_map_lookup_elem(&bh_written, &zero);

	if (!written)
		return 0;
	if (READ_ONCE(written->jiffy) != jiffy) {
		WRITE_ONCE(written->time, bpf_ktime_get_coarse_ns());
		WRITE_ONCE(written->jiffy, jiffy);
	}
	return READ_ONCE(written->time);
}

/* Returns true if the reader is late: its ring is more than half full. */
static __always_inline bool reader_lags(void *ring)
{
	return 2 * bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
	       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

/* Ends the reading at @place: the reader's lease has expired. */
static __noinline int reader_remove(__u32 place)
{
	struct bh_readers *readers = reader_all();

	if (readers)
		__sync_fetch_and_and(&readers->active, ~(1ull << (place & (BH_READERS - 1))));
	return 0;
}

static __always_inline bool reader_in_block(const struct bh_block *block,
					    const struct bh_addr *addr)
{
	return (addr->word[0] & block->mask.word[0]) == block->value.word[0] &&
	       (addr->word[1] & block->mask.word[1]) == block->value.word[1] &&
	       (addr->word[2] & block->mask.word[2]) == block->value.word[2] &&
	       (addr->word[3] & block->mask.word[3]) == block->value.word[3];
}

/* Returns the BH_END_* that the map of the reader at @place has for the packet's source or
 * destination. */
static __noinline __u32 reader_names(const struct bh_event *event, __u32 place, bool source)
{
	void *ends = bpf_map_lookup_elem(&bh_reader_ends, &place);
	struct bh_addr key;
	__u8 *found;

	if (event->hook == (source ? BH_HOOK_FROM_ENDPOINT : BH_HOOK_TO_ENDPOINT))
		key = bh_end_iface(event->ifindex);
	else if (!(event->flags & BH_EVENT_NO_PACKET))
		key = source ? event->source : event->destination;
	else
		return 0;
	found = ends ? bpf_map_lookup_elem(ends, &key) : NULL;
	return found ? *found : 0;
}

/* Returns the BH_END_* whose address block contains that address of the packet. */
static __noinline __u32 reader_blocks(const struct bh_filter *filter, const struct bh_event *event)
{
	const struct bh_addr *source = &event->source, *destination = &event->destination;
	__u32 ends = 0;

	if (event->flags & BH_EVENT_NO_PACKET)
		return 0;
	if (filter->blocks & BH_END_EITHER && (reader_in_block(&filter->block[0], source) ||
					       reader_in_block(&filter->block[0], destination)))
		ends |= BH_END_EITHER;
	if (filter->blocks & BH_END_SOURCE && reader_in_block(&filter->block[1], source))
		ends |= BH_END_SOURCE;
	if (filter->blocks & BH_END_DESTINATION && reader_in_block(&filter->block[2], destination))
		ends |= BH_END_DESTINATION;
	return ends;
}

static __always_inline bool reader_matches_ends(const struct bh_filter *filter,
						const struct bh_event *event, __u32 place)
{
	__u32 asked = filter->blocks | filter->named, have, source, destination;

	if (!asked)
		return true;
	have = filter->blocks ? reader_blocks(filter, event) : 0;
	if (filter->named) {
		source = reader_names(event, place, true);
		destination = reader_names(event, place, false);
		have |= (source & (BH_END_EITHER | BH_END_SOURCE)) |
			(destination & (BH_END_EITHER | BH_END_DESTINATION));
	}
	return (have & asked) == asked;
}

static __always_inline bool reader_matches(const struct bh_filter *filter,
					   const struct bh_event *event, __u32 place)
{
	__u64 reasons = event->flags & BH_EVENT_AUDIT ? filter->reasons[1] : filter->reasons[0];
	__be16 called =
		event->flags & BH_EVENT_REPLY ? event->source_port : event->destination_port;

	if (!(reasons >> (event->reason & 63) & 1))
		return false;
	if (likely(!(filter->flags | filter->blocks | filter->named)))
		return true;
	if (filter->flags & BH_FILTER_PROTOCOL && filter->protocol != event->protocol)
		return false;
	if (filter->flags & BH_FILTER_PORT && filter->port != called)
		return false;
	return reader_matches_ends(filter, event, place);
}

#endif
