/* SPDX-License-Identifier: GPL-2.0-only */
/* The chain of policies and rules that one end's decision goes through, as `trace -v` prints it. */
#ifndef BULKHEAD_CMD_EXPLAIN_PRINT_H
#define BULKHEAD_CMD_EXPLAIN_PRINT_H

#include "cmd/emit.h"
#include "cmd/view.h"
#include "compile/explain.h"

/* Prints a policy a line, with its rules below. Prints a long run of steps without effect as a
 * number. */
void explain_print(const struct explanation *explanation);

/* Shows the decision at one end of a flow, and with @explain in text the chain behind it. */
void explain_emit_side(struct emit *emit, const struct view *view, const struct flow *flow,
		       enum direction direction, const struct decision *decision, bool explain);

/* Adds all steps to JSON: an array of {"tier", "policy", "rule", "says", "file", "line"}. */
void explain_emit(struct emit *emit, const char *key, const struct explanation *explanation);

/* Explains one end of a flow, and adds all steps to JSON. */
void explain_emit_flow(struct emit *emit, const char *key, const struct view *view,
		       const struct flow *flow, enum direction direction);

/* Returns true if the rules, walked one by one, agree with the decision at each end. */
bool explain_both_agree(const struct view *view, const struct flow *flow,
			const struct decision *egress, const struct decision *ingress);

#endif
