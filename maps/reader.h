/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The readers of events. The programs write a record (maps/event.h) to the ring of each reader
 * whose filter matches, as far as the reader's budget for the endpoint that caused the event allows
 * (maps/tally.h). They wake no reader: readers poll. Without a reader they make no records.
 *
 * bh_readers: BH_READERS places. Pin name `readers`. ARRAY of one, BPF_F_MMAPABLE. bh_rings: a
 * RINGBUF for each place. Pin name `rings`. ARRAY_OF_MAPS, index the place. bh_reader_ends: for
 * each place, the endpoints that its filter names. Pin name `reader_ends`. ARRAY_OF_MAPS, index
 * the place, of HASHes: key struct bh_addr, value BH_END_*. bh_written: for each
 * place, the records written there, for all its readers so far; place 0 also has the time of the
 * last record, of whatever reader or none. Pin name `written`. PERCPU_ARRAY, index the place.
 *
 * A reader takes a place by exchanging an expired `lease` for one in the future. It makes its
 * maps and puts them at that place, which waits for all running programs; then it writes the
 * filter, then sets its bit of `active`. It renews its lease by exchanges; one that fails means
 * that another reader has the place. The lease of a killed reader expires: the next event clears
 * its bit, and the next reader takes the place and its maps.
 *
 * Endpoints that cause events fill the rings, each as far as its budget goes. A ring that is full
 * loses the newest records and counts them (`lost`). The command alone makes readers, and one more
 * than BH_READERS is refused.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/readers
 */
#ifndef BULKHEAD_MAPS_READER_H
#define BULKHEAD_MAPS_READER_H

#include "maps/counter.h"
#include "maps/types.h"

#define BH_READERS 8
#define BH_RING_BYTES (1u << 22) /* of a ring, unless the reader makes a smaller one */

/* The ends whose address a filter checks. A record must satisfy all checks of a filter. */
#define BH_END_EITHER (1u << 0)
#define BH_END_SOURCE (1u << 1)
#define BH_END_DESTINATION (1u << 2)
#define BH_ENDS 3

/* A block of addresses: those that equal @value under @mask. */
struct bh_block {
	struct bh_addr value, mask;
};

struct bh_filter {
	/* 1 << enum bh_reason; [0] where policy is enforced, [1] where it is in audit */
	__u64 reasons[2];
	/* by the bit of BH_END_*, valid where `blocks` has the bit */
	struct bh_block block[BH_ENDS];
	__u8 blocks; /* BH_END_*: the end is checked against its block */
	__u8 named; /* BH_END_*: the end may also be in bh_reader_ends; in neither: any address */
	__u8 protocol; /* IP protocol number */
	__u8 flags; /* BH_FILTER_* */
	__be16 port; /* destination port of the request, so a reply's source port */
	__u16 pad;
};
_Static_assert(sizeof(struct bh_filter) == 120, "struct bh_filter");
_Static_assert(BH_REASONS <= 64, "a bit for each reason");

#define BH_FILTER_PROTOCOL (1u << 0) /* `protocol` is checked */
#define BH_FILTER_PORT (1u << 1) /* `port` is checked */

struct bh_reader {
	__u64 lease; /* ns of CLOCK_MONOTONIC: the place is taken until then */
	__u64 lost; /* records for which a ring at this place had no room */
	__u32 pid; /* in the reader's PID namespace; for people only */
	__u32 pad;
	struct bh_filter filter;
};
_Static_assert(sizeof(struct bh_reader) == 144, "struct bh_reader");

struct bh_readers {
	__u64 active; /* a bit for each place with a reader */
	struct bh_reader reader[BH_READERS];
};
_Static_assert(sizeof(struct bh_readers) == 8 + 144 * BH_READERS, "struct bh_readers");

struct bh_written {
	__u64 records;
	/* Of place 0: CLOCK_MONOTONIC as the programs read it in that jiffy. The clock of a record
	 * advances once a jiffy, so other records of the jiffy take the time from here. */
	__u64 jiffy, time;
};
_Static_assert(sizeof(struct bh_written) == 24, "struct bh_written");

/*
 * Returns the key of an interface in bh_reader_ends, which is no address. An endpoint's hooks
 * know their own end by its interface, whatever address the packet has there.
 */
static inline struct bh_addr bh_end_iface(__u32 ifindex)
{
	return (struct bh_addr){{0, 0, ~0u, ifindex}};
}

#endif
