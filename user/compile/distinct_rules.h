/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules of one policy that say the same. Of equal rules the first decides, so the others are not
 * compiled: an object of 1.5 MB may have 500,000 rules `{}`.
 */
#ifndef BULKHEAD_COMPILE_DISTINCT_RULES_H
#define BULKHEAD_COMPILE_DISTINCT_RULES_H

#include "model/cluster.h"

/* Copies the rules that equal none before them, to be freed. *@n: how many rules there are, and how
 * many are left. Returns NULL if all are. */
struct rule *distinct_rules(const struct rule *rules, size_t *n);

#endif
