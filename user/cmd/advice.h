/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes NetworkPolicies, and ClusterNetworkPolicies for domain names, that allow the flows which
 * policy denies today.
 *
 * The policies speak of groups, not of pods. A group is the pods of one namespace with equal
 * labels, or one outside address. Labels that tell the pods of one workload apart
 * (pod-template-hash and others) do not count.
 */
#ifndef BULKHEAD_CMD_ADVICE_H
#define BULKHEAD_CMD_ADVICE_H

#include "cmd/side.h"
#include "model/cluster.h"

struct advice;
struct json_object;

/* @policy is what @cluster compiles to. Both must outlive the advice. Returns NULL if memory is
 * short. */
struct advice *advice_open(const struct cluster *cluster, const struct policy *policy);
void advice_close(struct advice *advice);

enum advice_answer {
	ADVICE_TAKEN, /* the new policies will allow the flow */
	ADVICE_KNOWN, /* the new policies allow the flow already */
	ADVICE_ALLOWED, /* the active policy allows the flow: no policy is needed */
	ADVICE_HIGHER, /* a rule of the cluster's administrator denies the flow */
	ADVICE_PROTOCOL, /* a NetworkPolicy cannot name the flow's protocol */
	ADVICE_NAMELESS, /* an end's labels do not set it apart from its namespace */
	ADVICE_ANSWER, /* a late answer to a call that policy or the new policies allow */
	N_ADVICE_ANSWERS
};

/* Takes a flow that was seen into account, by its domain name if it has one, which the cluster has
 * interned. @source_port: 0: not known. Returns one of the above, or -ENOMEM. */
int advice_add(struct advice *advice, const struct flow *flow, uint16_t source_port);

/* Returns the policies as a JSON array of API objects, which the caller frees by
 * json_object_put(). */
struct json_object *advice_policies(struct advice *advice);

/*
 * Compares @wider with the advice's own policy. @wider is what the cluster and the new policies
 * compile to. Returns 0 if @wider allows each flow that was taken and differs in nothing else,
 * -EPERM if it does not, with the first difference in @why, or -ENOMEM.
 */
int advice_check(const struct advice *advice, const struct policy *wider, char why[FLOW_TEXT * 2]);

#endif
