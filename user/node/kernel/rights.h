/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a command may do. To change a node takes CAP_NET_ADMIN (interfaces, routes, conntrack) and
 * CAP_SYS_ADMIN (bpf(2) finds objects by their IDs for nobody else; it stands for CAP_BPF and
 * CAP_PERFMON, too). status takes the second.
 */
#ifndef BULKHEAD_NODE_RIGHTS_H
#define BULKHEAD_NODE_RIGHTS_H

#include "node/kernel/handle.h"

/* Return 0; or -EPERM, reported with the capability that is missing, before anything is done. */
int rights_to_change(const struct node_handle *host);
int rights_to_look(const struct node_handle *host);

#endif
