/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the UDP ports at which the kernel decapsulates foo-over-udp and GUE (ip-fou(8)), by
 * generic netlink. */
#ifndef BULKHEAD_NODE_FOU_H
#define BULKHEAD_NODE_FOU_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0 or -errno. *ports is to be freed; a port may stand twice. */
int fou_ports(uint32_t **ports, size_t *n);

#endif
