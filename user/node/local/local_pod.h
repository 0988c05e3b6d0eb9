/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint of a policy, as a node looks for its interface: without labels and ports. */
#ifndef BULKHEAD_NODE_LOCAL_POD_H
#define BULKHEAD_NODE_LOCAL_POD_H

#include "model/cluster.h"
#include "node/kernel/table.h"
#include "policy/lazy_policy.h"

struct local_pod {
	struct endpoint endpoint; /* its strings are the policy's */
	struct address *addresses;
	struct cidr *sources;
};

/* Reads the endpoint. It is audited by its own flag or by its namespace's. Returns 0, -ENOMEM or
 * lazy_error(). */
int local_pod_read(const struct lazy_policy *policy, const struct policy_endpoint *record,
		   struct local_pod *pod);
void local_pod_free(struct local_pod *pod);

/* Leaves out the addresses that are keys of @others and not of @but. */
void local_pod_leave_out(struct local_pod *pod, const struct table *others,
			 const struct table *but);

#endif
