/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds policies in a namespace that no other object has: probably the namespace is misspelt. */
#ifndef BULKHEAD_MODEL_UNKNOWN_H
#define BULKHEAD_MODEL_UNKNOWN_H

#include "model/cluster.h"
#include "model/nearest.h"

/*
 * Calls @visit for each policy of a namespace that has no pod and no Namespace object. @nearest: a
 * namespace that has one and is spelt alike. If the cluster has neither pods nor Namespace objects,
 * nothing is known, and no policy is visited. Returns 0 or -ENOMEM.
 */
int unknown_namespaces(const struct cluster *cluster,
		       void (*visit)(void *data, const struct policy_object *policy,
				     const struct nearest *nearest),
		       void *data);

#endif
