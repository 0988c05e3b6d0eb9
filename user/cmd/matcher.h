/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the matchers of a compiled policy as the INI form writes a peer. */
#ifndef BULKHEAD_CMD_MATCHER_H
#define BULKHEAD_CMD_MATCHER_H

#include "cmd/text_buffer.h"
#include "policy/policy.h"

/*
 * Sets @text to the matcher at @index of policy->matchers: "endpoints(role=db in shop)",
 * "cidr(10.0.0.0/8 except 10.1.0.0/16)". " or " stands between clauses.
 */
void matcher_print(struct text *text, const struct policy *policy, uint32_t index);

/* Adds "10.0.0.0/8" to @text. @length is that of the IPv6 form; an IPv4 /n is 96 + n. */
void prefix_print(struct text *text, const struct address *address, uint32_t length);

/* Returns the matchers of a range of policy->numbers as an array. Overwrites @text. */
struct json_object *matchers_json(const struct policy *policy, struct policy_range range,
				  struct text *text);

#endif
