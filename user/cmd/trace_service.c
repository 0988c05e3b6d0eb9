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

static void print_backend(const struct service_trace *trace, const struct service_backend *backend)
{
	char name[FLOW_TEXT], address[ADDRESS_TEXT], port[FLOW_TEXT];

	printf("  %s %s (%s) %s%s\n", backend->allow ? "allow" : "deny",
	       backend_name(trace->view->policy, backend->backend, name),
	       address_print(&backend->flow.destination, address), port_print(&backend->flow, port),
	       state_text(backend));
	explain_print_side(trace->view, &backend->flow, EGRESS, &backend->egress, trace->explain);
	explain_print_side(trace->view, &backend->flow, INGRESS, &backend->ingress, trace->explain);
}

void service_trace_print(const struct service_trace *trace)
{
	const struct service_verdict *verdict = trace->verdict;
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], port[FLOW_TEXT];
	char name[SERVICE_NAME_TEXT] = "unknown";

	if (verdict->service)
		service_name(trace->view->policy, verdict->service, name);
	printf("%s %s (%s) -> service %s", service_outcome_text(verdict->outcome),
	       trace->from->name, address_print(&trace->flow->source, source), name);
	/* A headless Service has no address of its own. */
	if (!verdict->service || !(verdict->service->flags & POLICY_SERVICE_HEADLESS))
		printf(" (%s)", address_print(&trace->flow->destination, destination));
	printf(" %s\n", port_print(trace->flow, port));
	if (why(verdict))
		printf("  %s\n", why(verdict));
	for (size_t i = 0; i < verdict->n_backends; i++)
		print_backend(trace, &verdict->backends[i]);
}

static void add_chain(const struct service_trace *trace, const struct service_backend *backend,
		      enum direction direction, struct json_object *object)
{
	struct explanation chain;

	view_explain(trace->view, &backend->flow, direction, &chain);
	json_add(object, direction == EGRESS ? "egress_chain" : "ingress_chain",
		 explain_json(&chain));
	explanation_free(&chain);
}

static struct json_object *json_backend(const struct service_trace *trace,
					const struct service_backend *backend)
{
	const struct policy *policy = trace->view->policy;
	struct json_object *object = json_object_new_object();
	char text[FLOW_TEXT], name[SERVICE_NAME_TEXT];
	struct service_place place = backend_place(policy, backend->backend);

	json_add_text(object, "name", backend_name(policy, backend->backend, text));
	json_add_text(object, "service", service_name(policy, backend->service, name));
	json_add_text(object, "address", address_print(&backend->flow.destination, text));
	json_add_text(object, "port", port_print(&backend->flow, text));
	json_add_text(object, "node", place.node);
	json_add_bool(object, "ready", backend->backend->flags & POLICY_BACKEND_READY);
	json_add_bool(object, "chosen", backend->chosen);
	json_add_text(object, "verdict", backend->allow ? "allow" : "deny");
	json_add_decision(object, "egress", policy, &backend->egress);
	json_add_decision(object, "ingress", policy, &backend->ingress);
	if (trace->explain) {
		add_chain(trace, backend, EGRESS, object);
		add_chain(trace, backend, INGRESS, object);
	}
	return object;
}

static struct json_object *json_end(const struct flow_side *side, const struct address *address)
{
	struct json_object *object = json_object_new_object();
	char text[ADDRESS_TEXT];

	json_add_text(object, "name", side->name);
	json_add_text(object, "address", address ? address_print(address, text) : NULL);
	return object;
}

struct json_object *service_trace_json(const struct service_trace *trace)
{
	const struct service_verdict *verdict = trace->verdict;
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	bool headless = verdict->service && verdict->service->flags & POLICY_SERVICE_HEADLESS;
	char text[FLOW_TEXT], name[SERVICE_NAME_TEXT];

	json_add_text(object, "verdict", service_outcome_text(verdict->outcome));
	json_add(object, "source", json_end(trace->from, &trace->flow->source));
	json_add(object, "destination",
		 json_end(trace->to, headless ? NULL : &trace->flow->destination));
	json_add_text(object, "port", port_print(trace->flow, text));
	json_add_text(object, "service",
		      verdict->service ? service_name(trace->view->policy, verdict->service, name)
				       : NULL);
	json_add_text(object, "why", why(verdict));
	json_add(object, "backends", array);
	for (size_t i = 0; i < verdict->n_backends; i++)
		json_object_array_add(array, json_backend(trace, &verdict->backends[i]));
	return object;
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
		       port_print(&backend->flow, port), backend->allow ? "allow" : "deny",
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

		for (enum direction d = INGRESS; d <= EGRESS; d++) {
			struct explanation chain;

			view_explain(trace->view, &backend->flow, d, &chain);
			agrees &=
				explain_agrees(&chain, trace->view->policy,
					       d == EGRESS ? &backend->egress : &backend->ingress);
			explanation_free(&chain);
		}
	}
	return agrees;
}
