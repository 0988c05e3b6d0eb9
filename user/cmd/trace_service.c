/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "cmd/explain_print.h"
#include "cmd/trace_service.h"
#include "policy/isolation.h"

bool service_trace_ask(const struct view *view, const struct flow_side *to, const struct flow *flow,
		       struct service_verdict *verdict)
{
	const struct policy *policy = view->policy;

	if (to->service && to->service->flags & POLICY_SERVICE_HEADLESS) {
		evaluate_headless(&view->source, policy, to->service, flow, verdict);
		return true;
	}
	evaluate_service(&view->source, policy, flow, verdict);
	return verdict->answer != SERVICE_NONE;
}

/* Returns the reason why no backend decides; NULL: the backends decide. */
static const char *why(const struct service_verdict *verdict)
{
	if (verdict->answer == SERVICE_UNKNOWN)
		return "in service-cidr, and no input has its backends: the kernel's choice of "
		       "backend decides";
	if (verdict->answer == SERVICE_NO_PORT)
		return "the Service has no such port";
	for (size_t i = 0; i < verdict->n_backends; i++)
		if (verdict->backends[i].chosen)
			return NULL;
	return "no backend takes new connections";
}

static const char *state_text(const struct service_backend *backend)
{
	uint8_t flags = backend->backend->flags;

	if (backend->chosen)
		return flags & POLICY_BACKEND_READY ? "" : ", terminating";
	return flags & POLICY_BACKEND_READY ? ", not from here" : ", not ready";
}

static void emit_backend(const struct service_trace *trace, const struct service_backend *backend,
			 struct emit *emit)
{
	const struct policy *policy = trace->view->policy;
	struct service_place place = backend_place(policy, backend->backend);
	char name[FLOW_TEXT], address[ADDRESS_TEXT], port[FLOW_TEXT], service[SERVICE_NAME_TEXT];

	backend_name(policy, backend->backend, name);
	address_print(&backend->flow.destination, address);
	port_print(&backend->flow, port);
	emit_say(emit, "  %s %s (%s) %s%s\n", verdict_name(backend->allow), name, address, port,
		 state_text(backend));
	emit_object(emit, NULL);
	emit_text(emit, "name", name);
	emit_text(emit, "service", service_name(policy, backend->service, service));
	emit_text(emit, "address", address);
	emit_text(emit, "port", port);
	emit_text(emit, "node", place.node);
	emit_bool(emit, "ready", backend->backend->flags & POLICY_BACKEND_READY);
	emit_bool(emit, "chosen", backend->chosen);
	emit_text(emit, "verdict", verdict_name(backend->allow));
	explain_emit_side(emit, trace->view, &backend->flow, EGRESS, &backend->egress,
			  trace->explain);
	explain_emit_side(emit, trace->view, &backend->flow, INGRESS, &backend->ingress,
			  trace->explain);
	if (trace->explain && emit->json) {
		explain_emit_flow(emit, "egress_chain", trace->view, &backend->flow, EGRESS);
		explain_emit_flow(emit, "ingress_chain", trace->view, &backend->flow, INGRESS);
	}
	emit_end(emit);
}

void service_trace_emit(const struct service_trace *trace, struct emit *emit)
{
	const struct service_verdict *verdict = trace->verdict;
	const struct policy_service *service = verdict->service;
	/* A headless Service has no address of its own. */
	const bool headless = service && service->flags & POLICY_SERVICE_HEADLESS;
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], port[FLOW_TEXT];
	char name[SERVICE_NAME_TEXT] = "";

	address_print(&trace->flow->source, source);
	address_print(&trace->flow->destination, destination);
	port_print(trace->flow, port);
	if (service)
		service_name(trace->view->policy, service, name);
	emit_say(emit, "%s %s (%s) -> service %s", service_outcome_text(verdict->outcome),
		 trace->from->name, source, service ? name : "unknown");
	if (!headless)
		emit_say(emit, " (%s)", destination);
	emit_say(emit, " %s\n", port);
	if (why(verdict))
		emit_say(emit, "  %s\n", why(verdict));
	emit_object(emit, NULL);
	emit_text(emit, "verdict", service_outcome_text(verdict->outcome));
	emit_side(emit, "source", trace->from->name, source, trace->from->host);
	emit_side(emit, "destination", trace->to->name, headless ? NULL : destination, NULL);
	emit_text(emit, "port", port);
	emit_name(emit, "service", name);
	emit_text(emit, "why", why(verdict));
	emit_array(emit, "backends");
	for (size_t i = 0; i < verdict->n_backends; i++)
		emit_backend(trace, &verdict->backends[i], emit);
	emit_end(emit);
	emit_end(emit);
}

void service_trace_line(const struct service_trace *trace)
{
	const struct service_verdict *verdict = trace->verdict;
	const struct policy *policy = trace->view->policy;
	char text[2][DECISION_TEXT], address[ADDRESS_TEXT], port[FLOW_TEXT];
	char name[SERVICE_NAME_TEXT] = "-";

	if (verdict->service)
		service_name(policy, verdict->service, name);
	printf("%s\tservice %s", service_outcome_text(verdict->outcome), name);
	for (size_t i = 0; i < verdict->n_backends; i++) {
		const struct service_backend *backend = &verdict->backends[i];

		if (!backend->chosen)
			continue;
		printf("\t%s %s %s\t%s\t%s", address_print(&backend->flow.destination, address),
		       port_print(&backend->flow, port), verdict_name(backend->allow),
		       decision_print(policy, &backend->egress, text[0], DECISION_TEXT),
		       decision_print(policy, &backend->ingress, text[1], DECISION_TEXT));
	}
	putchar('\n');
}

bool service_trace_agrees(const struct service_trace *trace)
{
	bool agrees = true;

	for (size_t i = 0; i < trace->verdict->n_backends; i++) {
		const struct service_backend *backend = &trace->verdict->backends[i];

		agrees &= explain_both_agree(trace->view, &backend->flow, &backend->egress,
					     &backend->ingress);
	}
	return agrees;
}
