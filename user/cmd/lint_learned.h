/* SPDX-License-Identifier: GPL-2.0-only */
/* `lint --learned`: findings about what this node's endpoints have learned by domain names. */
#ifndef BULKHEAD_CMD_LINT_LEARNED_H
#define BULKHEAD_CMD_LINT_LEARNED_H

#include "compile/lint.h"
#include "model/cluster.h"

/* Adds a finding for each two names of the cluster's rules by which one endpoint has learned one
 * address. @pin: as for view_open(). Returns an exit status, reported. */
int lint_learned(const struct cluster *cluster, const char *pin, struct lint_findings *findings);

#endif
