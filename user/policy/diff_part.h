/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of diff_policies() that have files of their own. */
#ifndef BULKHEAD_POLICY_DIFF_PART_H
#define BULKHEAD_POLICY_DIFF_PART_H

#include "policy/policy_diff.h"

/* diff_block.c: makes diff->blocks from diff->pairs. */
void diff_gather(struct diff *diff);

/* diff_service.c: finds the Services' addresses, ports and backends that only one policy has. */
void diff_find_services(struct diff *diff);

#endif
