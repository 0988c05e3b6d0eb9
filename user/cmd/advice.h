/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From flows that policy denies to the NetworkPolicies that would allow them. The policies speak of
 * groups and not of pods: a group is the pods of one namespace with equal labels, but for the
 * labels that tell the pods of one workload apart (pod-template-hash and so on), or one outside
 * address.
 */
#ifndef BULKHEAD_CMD_ADVICE_H
#define BULKHEAD_CMD_ADVICE_H

#include "cmd/flow.h"
#include "model/cluster.h"

struct advice;
struct json_object;

/* @policy is what @cluster compiles to; both must outlive the advice. NULL: no memory. */
struct advice *advice_open(const struct cluster *cluster, const struct policy *policy);
void advice_close(struct advice *advice);

enum advice_answer {
	ADVICE_TAKEN, /* the policies will allow the flow */
	ADVICE_KNOWN, /* they do already */
	ADVICE_ALLOWED, /* policy allows the flow: nothing is to be done */
	ADVICE_HIGHER, /* a rule of the cluster's administrator denies the flow */
	ADVICE_PROTOCOL, /* a NetworkPolicy cannot name the flow's protocol */
	ADVICE_NAMELESS, /* an end's labels do not set it apart from its namespace */
};

/* What the policies will do about a flow that was seen. Returns the answer, or -ENOMEM. */
int advice_add(struct advice *advice, const struct flow *flow);

/* The NetworkPolicies, as a JSON array of the API's objects; the caller puts it. */
struct json_object *advice_policies(struct advice *advice);

/*
 * Compares @wider, the policy that the cluster and the printed policies compile to, with the
 * advice's own. Returns 0 where each flow taken is allowed now and nothing else changed, -EPERM
 * where not, with the first difference in @why; or -ENOMEM.
 */
int advice_check(const struct advice *advice, const struct policy *wider, char why[FLOW_TEXT * 2]);

#endif
