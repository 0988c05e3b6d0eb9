/* SPDX-License-Identifier: GPL-2.0-only */
/* Says why a flow was allowed or denied where no rule decided: policies isolate the subject and
 * none of their rules allows the flow, or the other end is the subject's own node. */
#ifndef BULKHEAD_COMPILE_ISOLATION_H
#define BULKHEAD_COMPILE_ISOLATION_H

#include "compile/judge.h"

/* Whether @isolation isolates the endpoints of @segment in @direction. */
bool isolation_holds(const struct policy *policy, const struct policy_isolation *isolation,
		     const struct policy_segment *segment, enum direction direction);

/*
 * Prints "isolated by shop/db, shop/default-deny", with names as in a decision; "its own node is
 * never isolated"; or "" where a rule decided or no reason is needed. Returns @text.
 */
char *decision_why(const struct policy *names, const struct decision *decision, char *text,
		   size_t size);

#endif
