/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a verdict is what it is: the policies in the order in which they were asked. */
#ifndef BULKHEAD_CMD_EXPLAIN_H
#define BULKHEAD_CMD_EXPLAIN_H

#include "cmd/json.h"
#include "cmd/match.h"

/*
 * An array of {"policy", "rule", "says"} for the end whose @direction it is: each policy that could
 * select it, and each rule up to the one that decides. Empty where that end is no endpoint.
 */
struct json_object *explain(const struct match_flow *match, enum direction direction);

#endif
