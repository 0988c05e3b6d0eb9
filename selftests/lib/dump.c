// SPDX-License-Identifier: GPL-2.0-only
#include "dump.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "compile/compile.h"
#include "policy/frontend.h"
#include "model/cluster_service.h"

static void dump_labels(FILE *to, const struct labels *labels)
{
	for (size_t i = 0; i < labels->n; i++)
		fprintf(to, " %s=%s", labels->at[i].key, labels->at[i].value);
}

static void dump_selector(FILE *to, const char *name, const struct selector *selector)
{
	static const char *const ops[] = {"in", "notin", "exists", "!exists"};

	fprintf(to, " %s(%s", name, selector->n ? "" : "*");
	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *requirement = &selector->at[i];

		fprintf(to, "%s%s %s", i ? "; " : "", requirement->key, ops[requirement->op]);
		for (size_t j = 0; j < requirement->n_values; j++)
			fprintf(to, "%s\"%s\"", j ? "," : " ", requirement->values[j]);
	}
	fputc(')', to);
}

static void dump_addresses(FILE *to, const struct address *addresses, size_t n)
{
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < n; i++)
		fprintf(to, " %s", address_print(&addresses[i], text));
}

static const char *protocol(uint8_t number)
{
	return number == IPPROTO_TCP	? "TCP"
	       : number == IPPROTO_UDP	? "UDP"
	       : number == IPPROTO_SCTP ? "SCTP"
	       : number			? "?"
					: "any";
}

static void dump_endpoint(FILE *to, const char *kind, const struct endpoint *endpoint)
{
	char text[ADDRESS_TEXT];

	fprintf(to, "%s %s/%s", kind, endpoint->ns_name, endpoint->name);
	dump_labels(to, &endpoint->labels);
	dump_addresses(to, endpoint->addresses, endpoint->n_addresses);
	for (size_t i = 0; i < endpoint->n_ports; i++)
		fprintf(to, " port %s %s/%u", endpoint->ports[i].name,
			protocol(endpoint->ports[i].protocol), endpoint->ports[i].port);
	if (endpoint->uid)
		fprintf(to, " uid %s", endpoint->uid);
	if (endpoint->node)
		fprintf(to, " on %s", endpoint->node);
	if (endpoint->interface)
		fprintf(to, " at %s", endpoint->interface);
	if (endpoint->has_mac) {
		fputs(" mac", to);
		for (int i = 0; i < 6; i++)
			fprintf(to, "%c%02x", i ? ':' : ' ', endpoint->mac[i]);
	}
	fprintf(to, "%s%s", endpoint->l2 ? " l2" : "", endpoint->audit ? " audit" : "");
	fprintf(to, "%s%s", endpoint->not_ready ? " not-ready" : "",
		endpoint->terminating ? " terminating" : "");
	for (size_t i = 0; i < endpoint->n_allow_source; i++)
		fprintf(to, " source %s", cidr_print(&endpoint->allow_source[i], text));
	fputc('\n', to);
}

static void dump_peer(FILE *to, const struct peer *peer)
{
	static const char *const scopes[] = {"own",	 "namespaces", "self", "not-self", "same",
					     "not-same", "nodes",      "cidr", "names"};
	char text[ADDRESS_TEXT];

	fprintf(to, "  peer %s", scopes[peer->scope]);
	if (peer->scope == PEER_NAMESPACES)
		dump_selector(to, "ns", &peer->namespaces);
	if (peer->scope < PEER_NODES)
		dump_selector(to, "pods", &peer->pods);
	if (peer->scope == PEER_NODES)
		dump_selector(to, "nodes", &peer->nodes);
	for (size_t i = 0; i < peer->n_keys; i++)
		fprintf(to, " %s", peer->keys[i]);
	if (peer->scope == PEER_CIDR)
		fprintf(to, " %s", cidr_print(&peer->cidr, text));
	for (size_t i = 0; i < peer->n_except; i++)
		fprintf(to, " except %s", cidr_print(&peer->except[i], text));
	fputc('\n', to);
}

static void dump_port(FILE *to, const struct port *port)
{
	fprintf(to, "  port %s", protocol(port->protocol));
	if (port->kind == PORT_RANGE)
		fprintf(to, "/%u-%u", port->first, port->last);
	if (port->kind == PORT_NAME)
		fprintf(to, "/%s", port->name);
	fputc('\n', to);
}

static void dump_rule(FILE *to, enum direction direction, const struct rule *rule)
{
	static const char *const actions[] = {"allow", "deny", "pass"};

	fprintf(to, " %s[%u] %s", direction == INGRESS ? "ingress" : "egress", rule->index,
		actions[rule->action]);
	if (rule->name)
		fprintf(to, " \"%s\"", rule->name);
	fprintf(to, "%s%s%s\n", rule->unknown ? " unknown" : "", rule->any_peer ? " any-peer" : "",
		rule->any_port ? " any-port" : "");
	for (size_t i = 0; i < rule->n_peers; i++)
		dump_peer(to, &rule->peers[i]);
	for (size_t i = 0; i < rule->n_ports; i++)
		dump_port(to, &rule->ports[i]);
}

static void dump_policy(FILE *to, const struct policy_object *policy)
{
	static const char *const kinds[] = {"NP", "NP-v1beta1", "ANP", "CNP", "BANP"};
	static const char *const tiers[] = {"admin", "network-policy", "baseline", "default"};

	fprintf(to, "%s %s %d %s%s%s", kinds[policy->kind], tiers[policy->tier], policy->priority,
		policy->ns_name ? policy->ns_name : "", policy->ns_name ? "/" : "", policy->name);
	if (!policy->ns_name)
		dump_selector(to, "ns", &policy->namespaces);
	dump_selector(to, "pods", &policy->pods);
	for (int i = INGRESS; i <= EGRESS; i++)
		fprintf(to, "%s%s%s", policy->applies[i] || policy->isolates[i] ? " " : "",
			policy->applies[i] ? (i == INGRESS ? "ingress" : "egress") : "",
			policy->isolates[i] ? "-isolated" : "");
	fputc('\n', to);
	for (int i = INGRESS; i <= EGRESS; i++)
		for (size_t j = 0; j < policy->n_rules[i]; j++)
			dump_rule(to, i, &policy->rules[i][j]);
}

static void dump_service(FILE *to, const struct service *service)
{
	static const char *const types[] = {"", " headless", " external-name"};

	fprintf(to, "service %s/%s%s", service->ns_name, service->name, types[service->type]);
	dump_addresses(to, service->addresses, service->n_addresses);
	fputs(" external", to);
	dump_addresses(to, service->external, service->n_external);
	if (service->has_selector)
		dump_selector(to, "pods", &service->selector);
	fprintf(to, "%s%s%s\n", service->any_ready ? " any-ready" : "",
		service->internal_local ? " internal-local" : "",
		service->external_local ? " external-local" : "");
	for (size_t i = 0; i < service->n_ports; i++) {
		const struct service_port *port = &service->ports[i];

		fprintf(to, "  port %s %s/%u to %u%s node %u\n", port->name ? port->name : "-",
			protocol(port->protocol), port->port, port->target,
			port->target_name ? port->target_name : "", port->node_port);
	}
}

/* Leaves out the slice's name, which differs between the forms. */
static void dump_slice(FILE *to, const struct slice *slice)
{
	fprintf(to, "slice of %s/%s\n", slice->ns_name, slice->service ? slice->service : "-");
	for (size_t i = 0; i < slice->n_ports; i++)
		fprintf(to, "  port %s %s/%u\n", slice->ports[i].name ? slice->ports[i].name : "-",
			protocol(slice->ports[i].protocol), slice->ports[i].port);
	for (size_t i = 0; i < slice->n_endpoints; i++) {
		const struct slice_endpoint *endpoint = &slice->endpoints[i];

		fprintf(to, "  backend%s%s%s", endpoint->ready ? " ready" : "",
			endpoint->serving ? " serving" : "",
			endpoint->terminating ? " terminating" : "");
		dump_addresses(to, endpoint->addresses, endpoint->n_addresses);
		fprintf(to, " on %s\n", endpoint->node ? endpoint->node : "-");
	}
}

char *dump_cluster(const struct cluster *cluster)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		abort();
	if (cluster->node)
		fprintf(to, "this node is %s\n", cluster->node);
	for (size_t i = 0; i < cluster->n_uplinks; i++)
		fprintf(to, "uplink %s\n", cluster->uplinks[i]);
	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		const struct namespace *namespace = &cluster->namespaces[i];

		fprintf(to, "namespace %s%s%s%s", namespace->name,
			namespace->declared ? "" : " undeclared",
			namespace->isolated ? " isolated" : "", namespace->audit ? " audit" : "");
		dump_labels(to, &namespace->labels);
		fputc('\n', to);
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		fprintf(to, "node %s", cluster->nodes[i].name);
		dump_labels(to, &cluster->nodes[i].labels);
		dump_addresses(to, cluster->nodes[i].addresses, cluster->nodes[i].n_addresses);
		fputc('\n', to);
	}
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		dump_endpoint(to, "endpoint", &cluster->endpoints[i]);
	for (size_t i = 0; i < cluster->n_expected; i++)
		dump_endpoint(to, "expected", &cluster->expected[i]);
	for (size_t i = 0; i < cluster->n_policies; i++)
		dump_policy(to, &cluster->policies[i]);
	for (size_t i = 0; i < cluster->n_host_pods && cluster->n_services; i++)
		dump_endpoint(to, "host-pod", &cluster->host_pods[i]);
	for (size_t i = 0; i < cluster->n_services; i++)
		dump_service(to, &cluster->services[i]);
	for (size_t i = 0; i < cluster->n_slices; i++)
		dump_slice(to, &cluster->slices[i]);
	for (size_t i = 0; i < cluster->n_resolvers; i++) {
		char text[ADDRESS_TEXT];

		fprintf(to, "resolver %s\n", address_print(&cluster->resolvers[i], text));
	}
	for (size_t i = 0; i < cluster->n_service_cidrs; i++) {
		char text[ADDRESS_TEXT];

		fprintf(to, "service-cidr %s\n", cidr_print(&cluster->service_cidrs[i], text));
	}
	fclose(to);
	return text;
}

static void dump_backend(FILE *to, const struct policy *policy,
			 const struct policy_backend *backend)
{
	struct service_place place = backend_place(policy, backend);
	char text[ADDRESS_TEXT];

	fprintf(to, "  %s %u on %s, ", address_print(&backend->address, text), backend->port,
		place.node ? place.node : "-");
	if (place.endpoint)
		fprintf(to, "endpoint %s/%s",
			policy_string(policy, policy->namespaces[place.endpoint->ns].name),
			policy_string(policy, place.endpoint->name));
	else
		fputs(place.is_node ? "node" : "outside", to);
	if (!(backend->flags & POLICY_BACKEND_READY))
		fputs(", not ready", to);
	fprintf(to, "%s%s\n", backend->flags & POLICY_BACKEND_SERVING ? "" : ", not serving",
		backend->flags & POLICY_BACKEND_TERMINATING ? ", terminating" : "");
}

char *dump_services(const struct policy *policy)
{
	char *listing = NULL;
	size_t size, n;
	FILE *to = open_memstream(&listing, &size);

	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct policy_backend *backends = frontend_backends(policy, frontend, &n);
		char text[ADDRESS_TEXT], name[SERVICE_NAME_TEXT];

		fprintf(to, "%s %s/%u %s%s%s%s\n", address_print(&frontend->address, text),
			frontend->protocol == IPPROTO_TCP   ? "TCP"
			: frontend->protocol == IPPROTO_UDP ? "UDP"
							    : "SCTP",
			frontend->port,
			service_name(policy, frontend_service(policy, frontend), name),
			frontend->flags & POLICY_FRONTEND_EXTERNAL ? " external" : "",
			frontend->flags & POLICY_FRONTEND_LOCAL ? " local" : "",
			frontend->flags & POLICY_FRONTEND_SHARED ? " shared" : "");
		for (size_t j = 0; j < n; j++)
			dump_backend(to, policy, &backends[j]);
	}
	fclose(to);
	return listing;
}
