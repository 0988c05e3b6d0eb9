/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses the ends of flows as the user writes them. */
#ifndef BULKHEAD_CMD_SIDE_H
#define BULKHEAD_CMD_SIDE_H

#include "policy/sides.h"
#include "policy/flow.h"

/* Parses an end: "namespace/name" (of a hostNetwork pod: its node), "svc:namespace/name",
 * "name:api.example.com" or an address. A domain name's end has no address. A Service's end has the
 * addresses that the cluster gave the Service; the end of a headless Service has the addresses of
 * its backends. Returns 0, or -EINVAL with the reason in
 * @why. */
int end_parse(const struct policy *policy, const char *text, struct flow_side *end,
	      char why[FLOW_TEXT]);

#endif
