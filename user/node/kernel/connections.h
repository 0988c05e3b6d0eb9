/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of connections (maps/conntrack.h), mapped: the programs go on with it meanwhile, so
 * that slots are claimed and given up here as they are there.
 */
#ifndef BULKHEAD_NODE_CONNECTIONS_H
#define BULKHEAD_NODE_CONNECTIONS_H

#include <stdint.h>

#include "maps/conntrack.h"
#include "maps/share.h"

struct node_handle;

struct connections {
	struct bh_ct_bucket *buckets;
	uint32_t n; /* buckets */
	struct bh_share_total *total;
	uint64_t seed;
};

/* Returns 0 or -errno, not reported. */
int connections_open(struct node_handle *host, struct connections *connections);
void connections_close(struct connections *connections);

/* Adds one that counts in nobody's share. Returns 0 or -ENOSPC: both its buckets are full. */
int connections_add(const struct connections *connections, const struct bh_ct_key *key,
		    const struct bh_ct *ct);

/* Marks those of an address as gone: the kernel's timer sweeps them. Returns how many they were. */
uint32_t connections_forget(const struct connections *connections, const struct bh_addr *addr);

/* Calls @visit for what @bucket, a value of the map, has; stops where that returns non-zero, and
 * returns that. */
int connections_each(const struct bh_ct_bucket *bucket,
		     int (*visit)(void *data, const struct bh_ct_key *key, const struct bh_ct *ct),
		     void *data);

#endif
