/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP program on an uplink, through libxdp. */
#ifndef BULKHEAD_NODE_XDP_ATTACH_H
#define BULKHEAD_NODE_XDP_ATTACH_H

#include "node/kernel/attach.h"

/* Reads the XDP programs that the interface carries. Returns 0 or -errno, not reported. */
int xdp_read(struct node_handle *handle, uint32_t ifindex, struct attached *attached);

/* Attaches the program in native mode if the driver can, else in generic mode, and reports the
 * mode and the reason. Returns 0 or -errno, not reported. @name: the interface's. */
int xdp_add(struct node_handle *handle, uint32_t ifindex, const char *name);

/* Replaces our program of another build, or on other maps, by this command's on the pinned maps: in
 * one step, or under a dispatcher by adding the new program before the old one is removed. Returns
 * 0 or -errno, not reported. */
int xdp_renew(struct node_handle *handle, uint32_t ifindex);

/* Removes libxdp's pins that a killed command left. No program that guards an interface is behind
 * such a pin. */
void xdp_tidy(struct node_handle *handle, uint32_t ifindex);

/* Removes our programs, and the pins that xdp_tidy() removes. */
int xdp_remove(struct node_handle *handle, uint32_t ifindex);

#endif
