/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that a policy tells apart, as ends of flows: each endpoint, each node, and
 * for each prefix an address that no longer prefix, endpoint or node has.
 */
#ifndef BULKHEAD_CMD_ENDS_H
#define BULKHEAD_CMD_ENDS_H

#include "cmd/flow.h"

/* In this order: endpoints "namespace/name", nodes "node NAME", prefixes "10.0.0.0/8", "world". */
struct ends {
	struct end *at;
	size_t n;
	size_t n_endpoints; /* the first so many: policy->endpoints, one by one */
};

/* Returns 0, or -ENOMEM. */
int ends_list(const struct policy *policy, struct ends *ends);
void ends_free(struct ends *ends);

#endif
