/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_EVENT_BPF_H
#define BULKHEAD_MAPS_EVENT_BPF_H

#include "maps/event.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* bytes */
} bh_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_event_budget);
	__uint(max_entries, 1);
} bh_event_budget SEC(".maps");

#endif
