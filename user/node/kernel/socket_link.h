/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches the program that guards the node's sockets (sk_node) to the network namespace of this
 * command, which is the node's. The link is pinned, and ends with the pin.
 */
#ifndef BULKHEAD_NODE_SOCKET_LINK_H
#define BULKHEAD_NODE_SOCKET_LINK_H

#include "node/kernel/handle.h"

#define SOCKET_LINK "sk_node_link" /* name of the pin */

/* Makes the link, or gives the link the pinned program in one step. Returns 0 or -errno, reported.
 */
int socket_attach(struct node_handle *handle);

/* Returns true if the link runs the pinned program in this network namespace. */
bool socket_is_attached(struct node_handle *handle);

#endif
