/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the UDP ports at which the kernel decapsulates without a device that tells them: those of
 * foo-over-udp and GUE (ip-fou(8)) and of L2TP (ip-l2tp(8)), by generic netlink. */
#ifndef BULKHEAD_NODE_FOU_H
#define BULKHEAD_NODE_FOU_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0 or -errno. *ports is to be freed; a port may stand twice. */
int fou_ports(uint32_t **ports, size_t *n);

#endif
