/* SPDX-License-Identifier: GPL-2.0-only */
/* The UDP ports on which the kernel takes foo-over-udp and GUE apart (ip-fou(8)), by generic
 * netlink. */
#ifndef BULKHEAD_NODE_FOU_H
#define BULKHEAD_NODE_FOU_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0 or -errno. To be freed; one may stand twice. */
int fou_ports(uint32_t **ports, size_t *n);

#endif
