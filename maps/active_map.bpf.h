/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A map that a larger one can replace while programs run. The programs know an array of one place,
 * `at_<name>`, and what is in that place is the active map. A load makes `bh_<name>`, puts it there
 * and pins both: the map as <name>, the array as at_<name>. A map that is outgrown is copied into a
 * larger one, which one store puts into the place. An array can be in a place in which its size may
 * differ with BPF_F_INNER_MAP only (since Linux 5.10).
 */
#ifndef BULKHEAD_MAPS_ACTIVE_MAP_BPF_H
#define BULKHEAD_MAPS_ACTIVE_MAP_BPF_H

/* @places: of which bh_<name> gets the first. */
#define ACTIVE_MAPS(name, places)                         \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__type(key, __u32);                       \
		__uint(max_entries, places);              \
		__array(values, __typeof__(bh_##name));   \
	} at_##name SEC(".maps") = {.values = {&bh_##name}}

#define ACTIVE_MAP(name) ACTIVE_MAPS(name, 1)

#endif
