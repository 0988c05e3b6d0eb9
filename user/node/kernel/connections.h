/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of connections (maps/conntrack.h), mapped. The programs use it at the same time, so
 * slots are claimed and released here by their rules.
 */
#ifndef BULKHEAD_NODE_CONNECTIONS_H
#define BULKHEAD_NODE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/conntrack.h"
#include "maps/share.h"

struct node_handle;
struct table;

#define CONNECTIONS "ct" /* pin names */
/* of a table that grows, until the new one has all of it */
#define CONNECTIONS_FORMER "ct_former"

struct connections {
	struct bh_ct_group *table;
	uint32_t groups; /* in the table */
	struct bh_share_total *total;
	uint64_t seed;
};

/* Returns 0 or -errno, not reported. */
int connections_open(struct node_handle *handle, struct connections *connections);
void connections_close(struct connections *connections);

/* Adds a connection, unless the table has it or a program adds it at the moment: that one stays.
 * The garbage collector counts it in the share of ct->payer. Returns 0, or -ENOSPC if both its
 * buckets are full. */
int connections_add(const struct connections *connections, const struct bh_ct_key *key,
		    const struct bh_ct *ct);

/*
 * Copies each connection of the table @from that the table @to lacks, and opens those of @to that
 * are half-open and in @from are open by now. Both are maps' fds. Programs may work on either
 * table. Sets *@lost to the number of connections that found both their buckets full. Returns 0 or
 * -errno, not reported.
 */
int connections_copy(struct node_handle *handle, int from, int to, uint64_t *lost);

/* The tick for `seen` of an entry that is written now. It is ten seconds old: the kernel's clocks
 * may differ, and an entry from the future would count as timed out. */
uint32_t connections_tick(void);

/* Voids the connections of addresses, the keys of a table: no packet finds them any more, and the
 * garbage collector frees them. Sets *forgotten to their number. Returns 0 or -errno, not
 * reported. */
int connections_forget(struct node_handle *handle, const struct table *addrs, uint64_t *forgotten);

/* Voids those connections of addresses that were made for another interface than the address has
 * now, but for those that a first load has adopted and no packet has used since. @at: sorted; its
 * keys are the addresses, its values the interfaces, of type uint32_t. Sets *forgotten and returns
 * as connections_forget() does. */
int connections_forget_former(struct node_handle *handle, const struct table *at,
			      uint64_t *forgotten);

/* Calls @visit for each connection in @group, a value of the map. Stops if @visit returns
 * non-zero, and returns that. */
int connections_each(const struct bh_ct_group *group,
		     int (*visit)(void *data, const struct bh_ct_key *key, const struct bh_ct *ct),
		     void *data);

/* A share (maps/share.h), and the connections of it that the table has. */
struct connections_share {
	uint32_t key;
	struct bh_share share;
	uint32_t found;
	bool differs; /* `found` and share.count differ by more than the changes made meanwhile */
};

/* Sets *shares to the shares of endpoints and of the node, the largest first; the caller frees it.
 * Returns 0 or -errno, not reported. */
int connections_shares(struct node_handle *handle, const struct connections *connections,
		       struct connections_share **shares, size_t *n);

#endif
