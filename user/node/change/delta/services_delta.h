/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of Services that a delta brings, changes or takes, or whose backends' places it
 * changes. The planner reads all of the policy's Services, but only the endpoints that are such
 * backends.
 */
#ifndef BULKHEAD_NODE_SERVICES_DELTA_H
#define BULKHEAD_NODE_SERVICES_DELTA_H

#include "node/change/delta/delta_plan.h"

int services_delta_plan(struct delta_plan *plan);

#endif
