/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_READER_BPF_H
#define BULKHEAD_MAPS_READER_BPF_H

#include "maps/reader.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bh_readers);
	__uint(max_entries, 1);
} bh_readers SEC(".maps");

struct bh_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BH_RING_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, BH_READERS);
	__array(values, struct bh_ring);
} bh_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_written);
	__uint(max_entries, BH_READERS);
} bh_written SEC(".maps");

struct bh_ends {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct bh_addr);
	__type(value, __u8);
	__uint(max_entries, 1);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, BH_READERS);
	__array(values, struct bh_ends);
} bh_reader_ends SEC(".maps");

#endif
