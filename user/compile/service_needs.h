/* SPDX-License-Identifier: GPL-2.0-only */
/* The budgets of Services, for whoever continues a policy without a compile (budget_services.c). */
#ifndef BULKHEAD_COMPILE_SERVICE_NEEDS_H
#define BULKHEAD_COMPILE_SERVICE_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cluster_service.h"
#include "policy/asides.h"

/* How much Services take of the limits that those of all namespaces have together. */
struct service_needs {
	uint64_t bytes, steps;
};

/* Calls @each for each namespace of the finished cluster's Services. Those that are set aside need
 * nothing. */
typedef void services_needed(void *data, const char *ns, const struct service_needs *needs);
void services_need(const struct cluster *cluster, const struct asides *asides,
		   services_needed *each, void *data);

/* Returns true if no Service of the cluster is over a budget of its own, or of its namespace, of
 * which all Services are there, and all namespaces' Services together, which need @all, are within
 * the limits for these. */
bool services_fit(const struct cluster *cluster, const struct service_needs *all);

#endif
