/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of diff_policies() that have files of their own. */
#ifndef BULKHEAD_COMPILE_DIFF_PART_H
#define BULKHEAD_COMPILE_DIFF_PART_H

#include "compile/diff.h"

/* diff_block.c: from diff->pairs to diff->blocks. */
void diff_gather(struct diff *diff);

/* diff_service.c: the Services' addresses, ports and backends that only one policy has. */
void diff_find_services(struct diff *diff);

#endif
