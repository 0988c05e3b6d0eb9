/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses protocols and ports such as "TCP/80". */
#ifndef BULKHEAD_POLICY_FLOW_H
#define BULKHEAD_POLICY_FLOW_H

#include "policy/evaluate.h"

/* Bytes for the text of a flow or an end, or for a reason. */
#define FLOW_TEXT 256

/* Parses "TCP/80", "ICMP" or "47" into the flow's protocol and port. Returns 0, or -EINVAL with
 * the reason in @why. */
int port_parse(const char *text, struct flow *flow, char why[FLOW_TEXT]);
char *port_print(const struct flow *flow, char text[FLOW_TEXT]);

#endif
