/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts the IPsec policies of this network namespace (ip-xfrm(8)), by netlink. */
#ifndef BULKHEAD_NODE_IPSEC_H
#define BULKHEAD_NODE_IPSEC_H

#include <stdint.h>

/* Returns 0 or -errno. *n: outgoing policies; 0 on a kernel without IPsec, or if the kernel tells
 * nothing, for want of CAP_NET_ADMIN. */
int ipsec_outgoing(uint32_t *n);

#endif
