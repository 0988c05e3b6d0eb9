/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which object has an address that several objects of the API server name.
 *
 * A node may write the status of its own Pods and of its own Node object, and nobody checks the
 * addresses there. So an object does not get an address that another object has:
 *
 *   An address of a Node object is no Pod's, unless the last policy gives the address to a Pod that
 *   still names it, or to another Pod of the same node.
 *   Of the Pods of several nodes, those of the node that has the address in the last policy keep
 * it; if the last policy has no such node, those of the node whose Pod is the oldest. Of several
 * Pods of one node, a Pod that is not being deleted goes before one that is, and a newer Pod before
 * an older one: a node uses an address again after its former Pod. Of Pods of the same second, the
 * one that has the address in the last policy keeps it; else the first by namespace and name.
 *
 * A node's own statement that an address has left a Pod of that node goes before all of these
 * (NodePolicyStatus, status.leftAddresses in store.h).
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

/* An object that names an address which another object names too. */
struct contested {
	const char *kind; /* "Pod" or "Node" */
	const char *ns, *name; /* @ns NULL: a Node */
	const char *why; /* why it does not get the address: "FIELD: ..."; NULL: it gets it */
};

/* Gives each address of @cluster to one object, before cluster_finish(), and removes the address
 * from the others. @base: the last policy; NULL: none. Calls @found for each object and address
 * that is contested. */
void claims_resolve(struct cluster *cluster, const struct policy *base,
		    void (*found)(void *data, const struct contested *contested), void *data);

/* Removes from the Pods of @cluster, before cluster_finish(), each address that @base gives to
 * another Pod. Calls @held with "NAMESPACE/NAME" of each Pod that waits so for an address. */
void claims_pass(struct cluster *cluster, const struct policy *base,
		 void (*held)(void *data, const char *pod), void *data);

/* Returns true if a Node of the policy has the address. */
bool claims_is_node(const struct policy *policy, const struct address *address);

#endif
