/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the policies that a compiled policy keeps select its endpoints, and which rules list
 * them: by the endpoints' segments, since a compiled policy has no labels of endpoints.
 * explain_flow() needs this if there is no input.
 */
#ifndef BULKHEAD_COMPILE_SELECTION_H
#define BULKHEAD_COMPILE_SELECTION_H

#include "policy/evaluate.h"

struct selection;

/* @policy has no source, may have endpoints of the present (update.h), and must outlive the
 * selection. Returns 0, -ENOMEM, or -EILSEQ: the policies that it keeps do not compile to this
 * policy. */
int selection_open(const struct policy *policy, struct selection **selection);
void selection_close(struct selection *selection);

/* Returns the objects: policies, namespaces, nodes, and endpoints without labels. */
const struct cluster *selection_cluster(const struct selection *selection);

/* Returns true if an address has a segment: an isolated endpoint has none. */
bool selection_knows(const struct selection *selection, const struct address *address);

/* Returns true if a policy (of the selection's cluster) selects the endpoint with this address. */
bool selection_selects(const struct selection *selection, const struct policy_object *object,
		       const struct address *subject);

/* Returns true if one of the rule's peers is the other end, for an endpoint that the policy
 * selects: the flow's source (@end EGRESS) or destination. */
bool selection_lists(const struct selection *selection, const struct policy_object *object,
		     const struct rule *rule, const struct flow *flow, enum direction end);

#endif
