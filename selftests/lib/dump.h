/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a cluster as text without input positions, to compare readers. */
#ifndef BULKHEAD_SELFTESTS_DUMP_H
#define BULKHEAD_SELFTESTS_DUMP_H

#include "model/cluster.h"

/* Returns memory to free. One line for each object, rule, peer or port; `*` selects everything. */
char *dump_cluster(const struct cluster *cluster);

#endif
