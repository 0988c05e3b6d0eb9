/* SPDX-License-Identifier: GPL-2.0-only */
/* Flows as the user writes them: who, to whom, by which protocol and port. */
#ifndef BULKHEAD_CMD_FLOW_H
#define BULKHEAD_CMD_FLOW_H

#include "compile/ends.h"
#include "compile/flow.h"

/* @text is "namespace/name" (of a hostNetwork pod: its node), "svc:namespace/name" or an address. A
 * Service has the addresses that the cluster gave it; a headless one has its backends'. Returns 0,
 * or -EINVAL with the reason in @why. */
int end_parse(const struct policy *policy, const char *text, struct end *end, char why[FLOW_TEXT]);

#endif
