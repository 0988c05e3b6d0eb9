/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP program on an uplink, through libxdp. */
#ifndef BULKHEAD_NODE_XDP_H
#define BULKHEAD_NODE_XDP_H

#include "node/attach.h"

void xdp_read(const struct host *host, uint32_t ifindex, struct attached *attached);

/* Native where the driver can, else generic; says which it is, and why. Returns 0 or -errno, not
 * reported. @name: the interface's. */
int xdp_add(struct host *host, uint32_t ifindex, const char *name);
int xdp_remove(const struct host *host, uint32_t ifindex);

#endif
