/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the pod's interface and its other side on the node. */
#ifndef BULKHEAD_CNI_DEVICE_H
#define BULKHEAD_CNI_DEVICE_H

#include "cni/invocation.h"

struct device {
	uint32_t ifindex; /* on the node */
	char name[IF_NAMESIZE]; /* on the node */
	uint8_t mac[6]; /* the pod's */
};

/* Finds the interface by the kernel, not by the previous plugin's result. Returns 0 or a code,
 * failed. */
int device_find(struct cni_call *call, struct device *device);

/* Returns the addresses that the previous plugin's result gives the interface, to be freed: each
 * once, IPv4 first. Returns 0 or a code, failed. */
int device_addresses(struct cni_call *call, struct address **addresses, size_t *n);

#endif
