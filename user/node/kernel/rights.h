/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capabilities. Changing a node needs CAP_NET_ADMIN (interfaces, routes, conntrack) and
 * CAP_SYS_ADMIN (without which bpf(2) finds no objects by ID; it includes CAP_BPF and CAP_PERFMON).
 * `status` needs CAP_SYS_ADMIN only.
 */
#ifndef BULKHEAD_NODE_RIGHTS_H
#define BULKHEAD_NODE_RIGHTS_H

#include "node/kernel/handle.h"

/* Return 0; or -EPERM, reported with the missing capability, before anything is done. */
int rights_to_change(const struct node_handle *handle);
int rights_to_look(const struct node_handle *handle);

#endif
