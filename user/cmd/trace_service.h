/* SPDX-License-Identifier: GPL-2.0-only */
/* What `trace` says of a flow to a Service: the verdict of each backend, and the flow's. */
#ifndef BULKHEAD_CMD_TRACE_SERVICE_H
#define BULKHEAD_CMD_TRACE_SERVICE_H

#include "cmd/flow.h"
#include "cmd/json.h"
#include "cmd/view.h"
#include "compile/service_flow.h"

struct service_trace {
	const struct view *view;
	const struct end *from, *to;
	const struct flow *flow;
	const struct service_verdict *verdict;
	bool explain; /* the view has the objects: tell each rule that was asked */
};

/* Asks for the Service that @to names, or whose address the flow goes to. Returns false: it is no
 * Service's, and nothing is to be freed. */
bool service_trace_ask(const struct view *view, const struct end *to, const struct flow *flow,
		       struct service_verdict *verdict);

void service_trace_print(const struct service_trace *trace);
struct json_object *service_trace_json(const struct service_trace *trace);

/*
 * As `trace --batch` prints it, fields with tabs between: allow, deny or depends; "service", a
 * space and NAMESPACE/NAME, or "-" where no input tells which; then for each backend to which a new
 * connection may go: "ADDRESS PROTO/PORT allow" or "... deny", the egress decision, the ingress
 * decision.
 */
void service_trace_line(const struct service_trace *trace);

/* Whether at each backend the rules, walked one by one, come to the compiled decision. */
bool service_trace_agrees(const struct service_trace *trace);

#endif
