/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of diff_policies() that have files of their own. */
#ifndef BULKHEAD_POLICY_DIFF_PART_H
#define BULKHEAD_POLICY_DIFF_PART_H

#include "policy/policy_diff.h"

/* diff_block.c: makes diff->blocks from diff->pairs. */
void diff_gather(struct diff *diff);

/* How a kind is the same in both policies. */
struct diff_alike {
	bool peer; /* it is the same to all who talk with it */
	/* by direction, if it is such a peer: its policies allow it the same with each peer that is
	 * the same */
	bool says[2];
};

/* diff_alike.c: finds out by kind, to be freed. Between two kinds that are alike nothing changes.
 */
struct diff_alike *diff_find_alike(const struct diff *diff);

/* diff_service.c: finds the Services' addresses, ports and backends that only one policy has. */
void diff_find_services(struct diff *diff);

#endif
