/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds out who a pod is: by the active policy, by records, or by data from the runtime. */
#ifndef BULKHEAD_CNI_IDENTITY_H
#define BULKHEAD_CNI_IDENTITY_H

#include "cni/attachment.h"

/* Reads the pod's namespace, name and UID. Returns 0 or a code, failed. */
int identity_read_pod(struct cni_call *call, struct attachment *attachment);

/*
 * Fills in an endpoint's labels and ports, in memory of @cluster's, and sets their source.
 * Reports a record that does not parse, and goes on without it. Returns 0 or a code, failed.
 */
int identity_find(struct cni_call *call, struct node_handle *handle, struct cluster *cluster,
		  struct endpoint *endpoint, enum cni_source *source);

#endif
