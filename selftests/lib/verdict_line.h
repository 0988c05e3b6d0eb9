/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verdict on a flow and what decides it at both ends, as a line of text: the oracle's, and a
 * compiled policy's. Equal verdicts have equal lines.
 */
#ifndef BULKHEAD_SELFTESTS_VERDICT_LINE_H
#define BULKHEAD_SELFTESTS_VERDICT_LINE_H

#include "policy/evaluate.h"
#include "selftests/lib/oracle.h"

#define VERDICT_LINE (3 * ORACLE_TEXT)

/* Returns the flow as a compiled policy is asked about it. */
struct flow verdict_line_flow(const struct oracle_flow *flow);

/* Both return whether the flow is allowed. A Service's address is an address like any other. */
bool verdict_line_oracle(const struct cluster *cluster, const struct oracle_flow *flow,
			 char line[VERDICT_LINE]);
bool verdict_line_policy(const struct policy *policy, const struct oracle_flow *flow,
			 char line[VERDICT_LINE]);

/* The line of decisions that evaluate_flow() or evaluate_service() made. Returns @line. */
char *verdict_line_print(const struct policy *policy, bool allow, const struct decision *egress,
			 const struct decision *ingress, char line[VERDICT_LINE]);

#endif
