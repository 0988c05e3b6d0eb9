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
 *   A Pod that is being deleted, and whose node has no Node object any more while others have one,
 * has ended: no kubelet is left to say so, and a finalizer may keep the Pod for ever. It gets no
 * address that another object names.
 *   An address that passes from one Pod to another is nobody's in the last policy. It counts as one
 * that the last policy gives to a Pod of the node to which it passes: else any object that names
 * the address, and was refused so far, would get it now.
 *
 * An address that a Pod without a UID names is left as it is: no API server has accepted that Pod,
 * and cluster_finish() refuses what a person has written twice.
 */
#ifndef BULKHEAD_COMPILE_ADDRESS_CLAIMS_H
#define BULKHEAD_COMPILE_ADDRESS_CLAIMS_H

#include "policy/policy.h"

/* An object that names an address which another object names too. */
struct contested {
	const char *kind; /* "Pod" or "Node" */
	const char *ns, *name; /* @ns NULL: a Node */
	struct where where;
	const char *field; /* that names the address */
	const char *why; /* why it does not get the address; NULL: it gets it, or its end is near */
};

/* An address that passes to a Pod of this node. */
struct passing {
	struct address address;
	char *node;
};

/* The last policy, and the addresses that are nobody's there since they pass. */
struct former_owners {
	const struct policy *base; /* NULL: none */
	const struct passing *passing;
	size_t n_passing;
};

/* Gives each address of @cluster to one object, before cluster_finish(), and removes the address
 * from the others, and Pods that have none left. Calls @found for each object and address that is
 * contested. */
void address_claims_resolve(struct cluster *cluster, const struct former_owners *former,
			    void (*found)(void *data, const struct contested *contested),
			    void *data);

#endif
