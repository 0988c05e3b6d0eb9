// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/verdict_line.h"

#include <stdio.h>

static char *print(bool allow, const char *egress, const char *ingress, char line[VERDICT_LINE])
{
	snprintf(line, VERDICT_LINE, "%s | %s | %s", allow ? "allow" : "deny", egress, ingress);
	return line;
}

bool verdict_line_oracle(const struct cluster *cluster, const struct oracle_flow *flow,
			 char line[VERDICT_LINE])
{
	char egress_text[ORACLE_TEXT], ingress_text[ORACLE_TEXT];
	struct oracle_decision egress, ingress;
	const bool allow = oracle_evaluate(cluster, flow, &egress, &ingress);

	print(allow, oracle_print(&egress, egress_text), oracle_print(&ingress, ingress_text),
	      line);
	return allow;
}

char *verdict_line_print(const struct policy *policy, bool allow, const struct decision *egress,
			 const struct decision *ingress, char line[VERDICT_LINE])
{
	char egress_text[ORACLE_TEXT], ingress_text[ORACLE_TEXT];

	return print(allow, decision_print(policy, egress, egress_text, sizeof(egress_text)),
		     decision_print(policy, ingress, ingress_text, sizeof(ingress_text)), line);
}

struct flow verdict_line_flow(const struct oracle_flow *flow)
{
	return (struct flow){flow->source, flow->destination, flow->protocol, flow->port,
			     flow->name};
}

bool verdict_line_policy(const struct policy *policy, const struct oracle_flow *flow,
			 char line[VERDICT_LINE])
{
	const struct evaluate_source source = evaluate_policy(policy);
	const struct flow question = verdict_line_flow(flow);
	struct decision egress, ingress;
	const bool allow = evaluate_flow(&source, policy, &question, &egress, &ingress);

	verdict_line_print(policy, allow, &egress, &ingress, line);
	return allow;
}
