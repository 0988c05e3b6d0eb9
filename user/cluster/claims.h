/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses that have left a Pod by its node's own statement (NodePolicyStatus,
 * status.leftAddresses in store.h), and addresses that pass from one Pod to another. A statement
 * goes before all by which compile/address_claims.h decides.
 */
#ifndef BULKHEAD_CLUSTER_CLAIMS_H
#define BULKHEAD_CLUSTER_CLAIMS_H

#include <json-c/json.h>

#include "policy/policy.h"

/* The statements of all nodes. */
struct claims;
struct claims *claims_open(void); /* NULL: no memory */
void claims_close(struct claims *claims); /* NULL is fine */

/* Notes the statements of @node in place of its last ones; @left NULL: none. Calls @concerns with
 * "NAMESPACE/NAME" of each Pod that the change may concern. */
void claims_note(struct claims *claims, const char *node, struct json_object *left,
		 void (*concerns)(void *data, const char *pod), void *data);

/* Removes from the Pods of @cluster the addresses that have left them, before cluster_finish(). */
void claims_leave(const struct claims *claims, struct cluster *cluster);

/* Removes from the Pods of @cluster, before cluster_finish(), each address that @base gives to
 * another Pod. Calls @held with "NAMESPACE/NAME" of each Pod that waits so for an address, and
 * with its node and that address. */
void claims_pass(struct cluster *cluster, const struct policy *base,
		 void (*held)(void *data, const char *pod, const char *node,
			      const struct address *address),
		 void *data);

#endif
