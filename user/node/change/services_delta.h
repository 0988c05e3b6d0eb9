/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of Services whose backends a delta changes, or whose backends' places. It reads
 * the policy's Services, and of endpoints only those backends.
 */
#ifndef BULKHEAD_NODE_SERVICES_DELTA_H
#define BULKHEAD_NODE_SERVICES_DELTA_H

#include "node/change/delta_plan.h"

/* Whether the delta changes no Service but for its backends. */
bool services_delta_fits(const struct delta *delta);

int services_delta_plan(const struct delta_plan *plan);

#endif
