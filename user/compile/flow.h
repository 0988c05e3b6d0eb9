/* SPDX-License-Identifier: GPL-2.0-only */
/* Protocols and ports as they are written: "TCP/80". */
#ifndef BULKHEAD_COMPILE_FLOW_H
#define BULKHEAD_COMPILE_FLOW_H

#include "compile/judge.h"

/* What is written of a flow and its ends, or why it cannot be answered. */
#define FLOW_TEXT 256

/* "TCP/80", "ICMP", "47": into the flow's protocol and port. Returns 0, or -EINVAL with the
 * reason in @why. */
int port_parse(const char *text, struct flow *flow, char why[FLOW_TEXT]);
char *port_print(const struct flow *flow, char text[FLOW_TEXT]);

#endif
