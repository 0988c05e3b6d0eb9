/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts a pod active, beside the command ADD. */
#ifndef BULKHEAD_CNI_ADD_H
#define BULKHEAD_CNI_ADD_H

#include "cni/attachment.h"

/* Puts the pod of an attachment active again, as ADD did. The call has the attachment's network,
 * container and interface. What the runtime said of the pod's labels is not known any more. If that
 * fails, the interface is closed. Returns 0 or a code, failed. */
int add_again(struct cni_call *call, struct node_handle *handle,
	      const struct attachment *attachment);

#endif
