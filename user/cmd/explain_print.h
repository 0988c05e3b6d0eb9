/* SPDX-License-Identifier: GPL-2.0-only */
/* The chain of policies and rules that one end's decision goes through, as `trace -v` prints it. */
#ifndef BULKHEAD_CMD_EXPLAIN_PRINT_H
#define BULKHEAD_CMD_EXPLAIN_PRINT_H

#include "cmd/json_output.h"
#include "cmd/view.h"
#include "compile/explain.h"

/* Prints a policy a line, with its rules below. Prints a long run of steps without effect as a
 * number. */
void explain_print(const struct explanation *explanation);

/* Prints the decision at one end of a flow, and with @explain the chain behind the decision. */
void explain_print_side(const struct view *view, const struct flow *flow, enum direction direction,
			const struct decision *decision, bool explain);

/* Returns all steps: an array of {"tier", "policy", "rule", "says", "file", "line"}. */
struct json_object *explain_json(const struct explanation *explanation);

#endif
