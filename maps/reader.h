/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who reads events, and which. The programs write a record (maps/event.h) to the ring of each
 * reader whose filter takes it, as far as the reader's budget for the endpoint that is the cause
 * allows (maps/tally.h), and wake nobody: readers poll. With no reader they build none.
 *
 * bh_readers: BH_READERS places. Pin name `readers`. ARRAY of one, BPF_F_MMAPABLE.
 * bh_rings: a RINGBUF for each place. Pin name `rings`. ARRAY_OF_MAPS, index the place.
 * bh_reader_ends: for each place, the endpoints that its filter names. Pin name `reader_ends`.
 * ARRAY_OF_MAPS, index the place, of HASHes: key struct bh_addr, value BH_END_*.
 *
 * A reader takes a place by an exchange of `lease`: from a time that is over to one that is to
 * come. It makes its maps and puts them at that place, which waits for all programs that run, then
 * writes the filter, then its bit of `active`. It moves its lease on by exchanges; one that fails
 * says that another has the place. A reader that is killed leaves its lease to run out: the next
 * event clears its bit, the next reader takes its place and with it its maps.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/readers
 */
#ifndef BULKHEAD_MAPS_READER_H
#define BULKHEAD_MAPS_READER_H

#include "maps/counter.h"
#include "maps/types.h"

#define BH_READERS 8
#define BH_RING_BYTES (1u << 22) /* of each reader's ring, unless it makes a smaller one */

/* Which ends an address is asked for; a record has to satisfy each that a filter has. */
#define BH_END_EITHER (1u << 0)
#define BH_END_SOURCE (1u << 1)
#define BH_END_DESTINATION (1u << 2)
#define BH_ENDS 3

/* An address block: those whose bits under @mask are @value. */
struct bh_block {
	struct bh_addr value, mask;
};

struct bh_filter {
	__u64 reasons[2]; /* 1 << enum bh_reason: of what is enforced [0], only audited [1] */
	struct bh_block block[BH_ENDS]; /* by the bit of BH_END_*, where `blocks` has it */
	__u8 blocks; /* BH_END_*: this end is in its block, */
	__u8 named; /* or in bh_reader_ends; neither: any address */
	__u8 protocol; /* IP protocol number */
	__u8 flags; /* BH_FILTER_* */
	__be16 port; /* that was asked for: of a reply, its source's */
	__u16 pad;
};
_Static_assert(sizeof(struct bh_filter) == 120, "struct bh_filter");
_Static_assert(BH_REASONS <= 64, "a bit for each reason");

#define BH_FILTER_PROTOCOL (1u << 0) /* `protocol` counts */
#define BH_FILTER_PORT (1u << 1) /* and so does `port` */

struct bh_reader {
	__u64 lease; /* CLOCK_MONOTONIC, ns: the place is taken until then */
	__u64 written; /* records, since the programs are there, by all readers at this place */
	__u64 lost; /* records that its ring had no room for */
	__u32 pid; /* as the reader sees itself; for people */
	__u32 pad;
	struct bh_filter filter;
};
_Static_assert(sizeof(struct bh_reader) == 152, "struct bh_reader");

struct bh_readers {
	__u64 active; /* a bit for each place that is read */
	struct bh_reader reader[BH_READERS];
};
_Static_assert(sizeof(struct bh_readers) == 8 + 152 * BH_READERS, "struct bh_readers");

/*
 * At an endpoint's hooks its own end goes by its interface, whatever address a packet has there:
 * the key of an interface in bh_reader_ends, which is no address.
 */
static inline struct bh_addr bh_end_iface(__u32 ifindex)
{
	return (struct bh_addr){{0, 0, ~0u, ifindex}};
}

#endif
