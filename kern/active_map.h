/* SPDX-License-Identifier: GPL-2.0-only */
/* Lookups in the maps that larger ones can replace (maps/active_map.bpf.h). */
#ifndef BULKHEAD_KERN_ACTIVE_MAP_H
#define BULKHEAD_KERN_ACTIVE_MAP_H

#include "base.h"

/* The index of the one place. A constant takes no bytes of the stack. */
static const __u32 active_place;

/* Returns the active map; the verifier wants a test for NULL. @at: &at_<name> */
static __always_inline void *active_map(void *at)
{
	return bpf_map_lookup_elem(at, &active_place);
}

static __always_inline void *active_lookup(void *at, const void *key)
{
	void *map = active_map(at);

	return map ? bpf_map_lookup_elem(map, key) : NULL;
}

#endif
