/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/flow.h"
#include "compile/lint_part.h"
#include "policy/service_flow.h"
#include "policy/match.h"
#include "model/cluster_service.h"

static bool holds_any(const struct peer *peer, const struct address *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (match_block(peer, &addresses[i]))
			return true;
	return false;
}

/* Returns true if the block holds addresses of endpoints or nodes, so that it is meant for
 * these. */
static bool holds_others(const struct cluster *cluster, const struct peer *peer)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (holds_any(peer, cluster->endpoints[i].addresses,
			      cluster->endpoints[i].n_addresses))
			return true;
	for (size_t i = 0; i < cluster->n_nodes; i++)
		if (holds_any(peer, cluster->nodes[i].addresses, cluster->nodes[i].n_addresses))
			return true;
	return false;
}

/* Returns the first Service with a cluster address in the block; NULL: none. */
static const struct service *service_in(const struct cluster *cluster, const struct peer *peer)
{
	for (size_t i = 0; i < cluster->n_services; i++)
		if (holds_any(peer, cluster->services[i].addresses,
			      cluster->services[i].n_addresses))
			return &cluster->services[i];
	return NULL;
}

/* Returns true if the block overlaps a service-cidr, and neither is every address. */
static bool meets_service_cidr(const struct cluster *cluster, const struct cidr *cidr)
{
	for (size_t i = 0; i < cluster->n_service_cidrs; i++)
		if (cidr_covers(&cluster->service_cidrs[i], cidr))
			return true;
	return false;
}

void lint_service_block(struct lint *lint, const struct peer *peer, const struct where *where,
			const char *name)
{
	static const struct cidr everything = {{{[10] = 0xff, [11] = 0xff}}, 96};
	const struct cluster *cluster = lint->cluster;
	const struct service *service = service_in(cluster, peer);
	char text[ADDRESS_TEXT];

	if (cidr_covers(&peer->cidr, &everything) || !peer->cidr.length ||
	    (!service && !meets_service_cidr(cluster, &peer->cidr)) || holds_others(cluster, peer))
		return;
	if (service)
		lint_find(lint, "block-of-services", where, name,
			  "%s holds the address of the Service %s/%s and no other: no CIDR rule "
			  "matches a Service's address, name the pods behind it",
			  cidr_print(&peer->cidr, text), service->ns_name, service->name);
	else
		lint_find(lint, "block-of-services", where, name,
			  "%s lies in service-cidr: no CIDR rule matches a Service's address, name "
			  "the pods behind it",
			  cidr_print(&peer->cidr, text));
}

/* Returns true if every caller is allowed the same at all backends of the port. */
static bool are_alike(const struct policy *policy, const struct policy_service_port *port)
{
	const struct policy_backend *backends = policy->backends + port->backends.at;
	struct service_place first;

	if (!port->backends.n)
		return true;
	first = backend_place(policy, backends);
	for (uint32_t i = 1; i < port->backends.n; i++) {
		struct service_place place = backend_place(policy, &backends[i]);

		if (place.segment != first.segment || place.variation != first.variation ||
		    backends[i].port != backends->port || place.is_node || first.is_node)
			return false;
	}
	return true;
}

static bool is_backend(const struct service_verdict *verdict, const struct address *address)
{
	for (size_t i = 0; i < verdict->n_backends; i++)
		if (!memcmp(&verdict->backends[i].backend->address, address, sizeof(*address)))
			return true;
	return false;
}

static const struct service_backend *first_of(const struct service_verdict *verdict, bool allow)
{
	for (size_t i = 0; i < verdict->n_backends; i++)
		if (verdict->backends[i].chosen && verdict->backends[i].allow == allow)
			return &verdict->backends[i];
	return NULL;
}

static void report_difference(struct lint *lint, const struct policy_frontend *frontend,
			      const struct policy_address *caller, const struct flow *flow,
			      const struct service_verdict *verdict)
{
	const struct policy *policy = lint->policy;
	const struct policy_endpoint *endpoint = &policy->endpoints[caller->endpoint];
	const struct policy_service *service = frontend_service(policy, frontend);
	char name[SERVICE_NAME_TEXT], port[FLOW_TEXT], allowed[FLOW_TEXT], denied[FLOW_TEXT];

	/* compiled Services are in the order of the objects */
	lint_find(lint, "backends-differ",
		  &lint->cluster->services[service - policy->services].where,
		  service_name(policy, service, name),
		  "%s: %s/%s reaches the backend %s and not %s, so that the one which the kernel "
		  "chooses decides",
		  port_print(flow, port),
		  policy_string(policy, policy->namespaces[endpoint->ns].name),
		  policy_string(policy, endpoint->name),
		  backend_name(policy, first_of(verdict, true)->backend, allowed),
		  backend_name(policy, first_of(verdict, false)->backend, denied));
}

/* Returns true if the caller reaches one backend and not another. Skips callers that are a backend
 * themselves: every pod reaches itself. */
static bool differs(struct lint *lint, const struct policy_frontend *frontend,
		    const struct policy_address *caller)
{
	struct evaluate_source source = evaluate_policy(lint->policy);
	struct flow flow = {.source = caller->address,
			    .destination = frontend->address,
			    .protocol = frontend->protocol,
			    .port = frontend->port};
	struct service_verdict verdict;
	bool found;

	if (address_is_ipv4(&flow.source) != address_is_ipv4(&flow.destination))
		return false;
	evaluate_service(&source, lint->policy, &flow, &verdict);
	found = verdict.outcome == SERVICE_DEPENDS && !is_backend(&verdict, &caller->address);
	if (found)
		report_difference(lint, frontend, caller, &flow, &verdict);
	service_verdict_free(&verdict);
	return found;
}

/* Lists two addresses of each segment: the first may be that of a backend. */
static size_t list_callers(const struct policy *policy, const struct policy_address **callers)
{
	uint8_t *seen = calloc(policy->n_segments + 1, 1);
	size_t n = 0;

	for (size_t i = 0; seen && i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		uint8_t bit = address_is_ipv4(&address->address) ? 1 : 4;
		uint8_t *mine = &seen[address->segment];

		if ((*mine & bit) && (*mine & bit << 1))
			continue;
		*mine |= *mine & bit ? bit << 1 : bit;
		callers[n++] = address;
	}
	free(seen);
	return n;
}

void lint_services(struct lint *lint)
{
	const struct policy *policy = lint->policy;
	const struct policy_address **callers = calloc(policy->n_addresses + 1, sizeof(*callers));
	size_t n = callers && policy->n_frontends ? list_callers(policy, callers) : 0;
	bool *told = calloc(policy->n_service_ports + 1, sizeof(*told));

	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct policy_service_port *port = frontend_port(policy, frontend);

		if (!told || frontend->flags & POLICY_FRONTEND_EXTERNAL || are_alike(policy, port))
			continue;
		/* the Service may have an address of the other IP version as well */
		for (size_t j = 0; j < n && !told[frontend->service_port]; j++)
			told[frontend->service_port] = differs(lint, frontend, callers[j]);
	}
	free(told);
	free(callers);
}
