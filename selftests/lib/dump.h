/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a cluster as text without input positions, to compare readers. */
#ifndef BULKHEAD_SELFTESTS_DUMP_H
#define BULKHEAD_SELFTESTS_DUMP_H

#include "policy/policy.h"
#include "model/cluster.h"

/* Returns memory to free. One line for each object, rule, peer or port; `*` selects everything. */
char *dump_cluster(const struct cluster *cluster);
/* The same of compiled Services: each address and port, with the backends. */
char *dump_services(const struct policy *policy);

#endif
