/* SPDX-License-Identifier: GPL-2.0-only */
/* Who a pod is: by the policy in force, by records, or by what the runtime passes on. */
#ifndef BULKHEAD_CNI_IDENTITY_H
#define BULKHEAD_CNI_IDENTITY_H

#include "cni/attachment.h"

/* Reads the pod's namespace, name and UID. Returns 0 or a code, failed. */
int identity_read_pod(struct cni_call *call, struct attachment *attachment);

/*
 * Fills in the labels and ports of an endpoint that is unknown, in memory of @cluster's, and says
 * by what they are known. What does not parse is reported, and tells nothing. Returns 0 or a code,
 * failed.
 */
int identity_find(struct cni_call *call, struct node_handle *host, struct cluster *cluster,
		  struct endpoint *endpoint, enum cni_source *source);

#endif
