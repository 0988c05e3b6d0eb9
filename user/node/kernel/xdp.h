/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP program on an uplink, through libxdp. */
#ifndef BULKHEAD_NODE_XDP_H
#define BULKHEAD_NODE_XDP_H

#include "node/kernel/attach.h"

/* Returns 0 or -errno, not reported. */
int xdp_read(struct node_handle *host, uint32_t ifindex, struct attached *attached);

/* Native where the driver can, else generic; says which it is, and why. Returns 0 or -errno, not
 * reported. @name: the interface's. */
int xdp_add(struct node_handle *host, uint32_t ifindex, const char *name);

/* Puts a program of this command, on the pinned maps, in the place of one of ours that is another
 * build's or on other maps: in one step, or, under a dispatcher, first beside it. Returns 0 or
 * -errno, not reported. */
int xdp_renew(struct node_handle *host, uint32_t ifindex);

/* Lets go of what a killed command has left of libxdp's pins; nothing that it holds guards
 * anything. */
void xdp_tidy(struct node_handle *host, uint32_t ifindex);

/* Both: ours go, and what is left of them. */
int xdp_remove(struct node_handle *host, uint32_t ifindex);

#endif
