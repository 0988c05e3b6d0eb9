/* SPDX-License-Identifier: GPL-2.0-only */
/* A cluster as text, all but where things stand in the inputs: what readers are compared by. */
#ifndef BULKHEAD_SELFTESTS_DUMP_H
#define BULKHEAD_SELFTESTS_DUMP_H

#include "model/cluster.h"

/* In memory to free. One line an object, a rule, a peer or a port; `*` is a selector of all. */
char *dump_cluster(const struct cluster *cluster);

#endif
