/* SPDX-License-Identifier: GPL-2.0-only */
/* `trace` of a flow to a Service: the verdict for each backend, and for the flow. */
#ifndef BULKHEAD_CMD_TRACE_SERVICE_H
#define BULKHEAD_CMD_TRACE_SERVICE_H

#include "cmd/emit.h"
#include "cmd/side.h"
#include "cmd/view.h"
#include "policy/service_flow.h"

struct service_trace {
	const struct view *view;
	const struct flow_side *from, *to;
	const struct flow *flow;
	const struct service_verdict *verdict;
	bool explain; /* walk the rules as well: the view has the objects */
};

/* Evaluates a flow to the Service that @to names, or that has the flow's destination address.
 * Returns false if no Service does; @verdict is not to be freed then. */
bool service_trace_ask(const struct view *view, const struct flow_side *to, const struct flow *flow,
		       struct service_verdict *verdict);

void service_trace_emit(const struct service_trace *trace, struct emit *emit);

/*
 * Prints a line of `trace --batch`, with tabs between fields: "allow", "deny" or "depends";
 * "service"; "NAMESPACE/NAME", or "-" if no input tells which Service has the address; then for
 * each backend that a new connection may go to "ADDRESS PROTO/PORT allow" or "... deny", the egress
 * decision and the ingress decision.
 */
void service_trace_line(const struct service_trace *trace);

/* Returns true if the rules, walked one by one, agree with the compiled decision for each
 * backend. */
bool service_trace_agrees(const struct service_trace *trace);

#endif
