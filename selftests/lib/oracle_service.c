// SPDX-License-Identifier: GPL-2.0-only
/*
 * Services, written from the documentation of Service, EndpointSlice and kube-proxy. As simple as
 * the rest of the oracle: it sorts nothing and searches everything linearly.
 */
#include <stdlib.h>
#include <string.h>

#include "model/cluster_service.h"
#include "selftests/lib/oracle.h"

struct candidate {
	struct address address;
	uint16_t port;
	const char *node; /* NULL: not known */
	bool ready, serving, terminating;
};

/* One port of one Service, and a flow to it. */
struct front {
	const struct cluster *cluster;
	const struct service *service;
	const struct service_port *port;
	bool external;
	struct candidate candidates[ORACLE_BACKENDS];
	size_t n;
};

static bool same_address(const struct address *a, const struct address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_ipv4(const struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

static bool among(const struct address *addresses, size_t n, const struct address *address)
{
	for (size_t i = 0; i < n; i++)
		if (same_address(&addresses[i], address))
			return true;
	return false;
}

static const struct endpoint *pod_with(const struct cluster *cluster, const struct address *address)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (among(cluster->endpoints[i].addresses, cluster->endpoints[i].n_addresses,
			  address))
			return &cluster->endpoints[i];
	return NULL;
}

static const struct node *node_with(const struct cluster *cluster, const struct address *address)
{
	for (size_t i = 0; i < cluster->n_nodes; i++)
		if (among(cluster->nodes[i].addresses, cluster->nodes[i].n_addresses, address))
			return &cluster->nodes[i];
	return NULL;
}

/* The node of the pod with this address, else @said, else the node with this address. */
static const char *node_of(const struct cluster *cluster, const struct address *address,
			   const char *said)
{
	const struct endpoint *pod = pod_with(cluster, address);
	const struct node *node = node_with(cluster, address);

	if (pod && pod->node)
		return pod->node;
	return said ? said : node ? node->name : NULL;
}

/* "Consumers of the EndpointSlice API must [...] deduplicate". */
static void add(struct front *f, struct candidate candidate)
{
	for (size_t i = 0; i < f->n; i++)
		if (same_address(&f->candidates[i].address, &candidate.address) &&
		    f->candidates[i].port == candidate.port) {
			f->candidates[i].ready |= candidate.ready;
			f->candidates[i].serving |= candidate.serving;
			f->candidates[i].terminating |= candidate.terminating;
			return;
		}
	if (f->n == ORACLE_BACKENDS)
		abort();
	f->candidates[f->n++] = candidate;
}

static void add_slice(struct front *f, const struct slice *slice, uint16_t port)
{
	for (size_t i = 0; i < slice->n_endpoints; i++) {
		const struct slice_endpoint *endpoint = &slice->endpoints[i];

		for (size_t j = 0; j < endpoint->n_addresses; j++)
			add(f,
			    (struct candidate){.address = endpoint->addresses[j],
					       .port = port,
					       .node = node_of(f->cluster, &endpoint->addresses[j],
							       endpoint->node),
					       .ready = endpoint->ready,
					       .serving = endpoint->serving,
					       .terminating = endpoint->terminating});
	}
}

/* Returns true if the Service has any EndpointSlice: then its selector does not count. */
static bool add_slices(struct front *f)
{
	bool any = false;

	for (size_t i = 0; i < f->cluster->n_slices; i++) {
		const struct slice *slice = &f->cluster->slices[i];

		if (strcmp(slice->ns_name, f->service->ns_name) != 0 ||
		    !same_text(slice->service, f->service->name))
			continue;
		any = true;
		for (size_t j = 0; j < slice->n_ports; j++)
			if (same_text(slice->ports[j].name, f->port->name) &&
			    slice->ports[j].protocol == f->port->protocol)
				add_slice(f, slice, slice->ports[j].port);
	}
	return any;
}

static void add_pod(struct front *f, const struct endpoint *pod, uint16_t port)
{
	bool ready = !pod->not_ready && !pod->terminating;

	for (size_t i = 0; i < pod->n_addresses; i++)
		add(f,
		    (struct candidate){.address = pod->addresses[i],
				       .port = port,
				       .node = node_of(f->cluster, &pod->addresses[i], pod->node),
				       .ready = ready || f->service->any_ready,
				       .serving = !pod->not_ready,
				       .terminating = pod->terminating});
}

static bool has_labels(const struct selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->n; i++) {
		bool holds = false;

		for (size_t j = 0; j < labels->n; j++)
			holds |= strcmp(labels->at[j].key, selector->at[i].key) == 0 &&
				 strcmp(labels->at[j].value, selector->at[i].values[0]) == 0;
		if (!holds)
			return false;
	}
	return true;
}

/* "targetPort: Number or name of the port to access on the pods targeted by the service". */
static void add_selected(struct front *f, const struct endpoint *pods, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(pods[i].ns_name, f->service->ns_name) != 0 ||
		    !has_labels(&f->service->selector, &pods[i].labels))
			continue;
		if (!f->port->target_name)
			add_pod(f, &pods[i], f->port->target);
		for (size_t j = 0; f->port->target_name && j < pods[i].n_ports; j++)
			if (strcmp(pods[i].ports[j].name, f->port->target_name) == 0 &&
			    pods[i].ports[j].protocol == f->port->protocol)
				add_pod(f, &pods[i], pods[i].ports[j].port);
	}
}

static void keep(struct front *f, bool (*wanted)(const struct candidate *, const void *),
		 const void *data)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (wanted(&f->candidates[i], data))
			f->candidates[n++] = f->candidates[i];
	f->n = n;
}

static bool is_family(const struct candidate *candidate, const void *data)
{
	return is_ipv4(&candidate->address) == is_ipv4(data);
}

static bool is_on(const struct candidate *candidate, const void *node)
{
	return candidate->node && strcmp(candidate->node, node) == 0;
}

static bool is_ready(const struct candidate *candidate, const void *data)
{
	(void)data;
	return candidate->ready;
}

static bool is_serving(const struct candidate *candidate, const void *data)
{
	(void)data;
	return candidate->serving && candidate->terminating;
}

static bool any_ready(const struct front *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->candidates[i].ready)
			return true;
	return false;
}

/* Where the packet is translated: on the client's node, or on the node where it comes in. */
struct place {
	const char *node; /* NULL: not known */
	bool from_outside;
};

static struct place place_of(const struct cluster *cluster, const struct oracle_flow *flow)
{
	const struct endpoint *pod = pod_with(cluster, &flow->source);
	const struct node *source = node_with(cluster, &flow->source);
	const struct node *destination = node_with(cluster, &flow->destination);

	if (pod)
		return (struct place){pod->node, false};
	if (source)
		return (struct place){source->name, false};
	return (struct place){destination ? destination->name : NULL, true};
}

static void find_backends(struct front *f, const struct oracle_flow *flow,
			  const struct place *place)
{
	bool local = f->external ? f->service->external_local && place->from_outside
				 : f->service->internal_local;

	if (!add_slices(f) && f->service->has_selector) {
		add_selected(f, f->cluster->endpoints, f->cluster->n_endpoints);
		add_selected(f, f->cluster->host_pods, f->cluster->n_host_pods);
	}
	keep(f, is_family, &flow->source);
	if (local && place->node)
		keep(f, is_on, place->node);
	keep(f, any_ready(f) ? is_ready : is_serving, NULL);
}

static int by_backend(const void *a, const void *b)
{
	const struct oracle_flow *x = a, *y = b;
	int order = memcmp(&x->destination, &y->destination, sizeof(x->destination));

	return order ? order : (int)x->port - y->port;
}

static void put_backends(const struct front *f, const struct oracle_flow *flow,
			 struct oracle_service *service)
{
	for (size_t i = 0; i < f->n; i++) {
		struct oracle_flow one = *flow;
		bool there = false;

		one.destination = f->candidates[i].address;
		one.port = f->candidates[i].port;
		for (size_t j = 0; j < service->n; j++)
			there |= by_backend(&service->backends[j], &one) == 0;
		if (there)
			continue;
		if (service->n == ORACLE_BACKENDS)
			abort();
		service->backends[service->n++] = one;
	}
	if (service->n)
		qsort(service->backends, service->n, sizeof(*service->backends), by_backend);
}

/* "NodePort [...] on each Node's IP": an address of the node that the packet is on. */
static bool is_node_port(const struct cluster *cluster, const struct oracle_flow *flow,
			 const struct place *place, const struct service_port *port)
{
	for (size_t i = 0; place->node && i < cluster->n_nodes; i++)
		if (strcmp(cluster->nodes[i].name, place->node) == 0 &&
		    among(cluster->nodes[i].addresses, cluster->nodes[i].n_addresses,
			  &flow->destination))
			return port->node_port && port->node_port == flow->port &&
			       port->protocol == flow->protocol;
	return false;
}

/* Returns true if the flow's port is one of the Service's, at an address of the Service. */
static bool is_front(const struct service *service, const struct service_port *port,
		     const struct oracle_flow *flow)
{
	return port->port == flow->port && port->protocol == flow->protocol &&
	       (among(service->addresses, service->n_addresses, &flow->destination) ||
		among(service->external, service->n_external, &flow->destination));
}

/* kube-proxy ignores a Service without a cluster address. */
static bool is_served(const struct service *service)
{
	return service->type == SERVICE_ADDRESSED && service->n_addresses;
}

static void name_first(struct oracle_service *found, const struct service *service)
{
	if (found->name && (strcmp(found->ns_name, service->ns_name) < 0 ||
			    (strcmp(found->ns_name, service->ns_name) == 0 &&
			     strcmp(found->name, service->name) < 0)))
		return;
	found->ns_name = service->ns_name;
	found->name = service->name;
}

/* Returns true if the flow is to any port of a Service, or with @node_ports to a NodePort. */
static bool find_ports(const struct cluster *cluster, const struct oracle_flow *flow,
		       bool node_ports, struct oracle_service *found)
{
	struct place place = place_of(cluster, flow);
	bool any = false;
	struct front f;

	f.cluster = cluster;
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *service = &cluster->services[i];

		f.service = service;
		for (size_t j = 0; is_served(service) && j < service->n_ports; j++) {
			const struct service_port *port = &service->ports[j];

			f.port = port;
			f.n = 0;
			if (node_ports ? !is_node_port(cluster, flow, &place, port)
				       : !is_front(service, port, flow))
				continue;
			any = true;
			name_first(found, service);
			f.external = node_ports || !among(service->addresses, service->n_addresses,
							  &flow->destination);
			find_backends(&f, flow, &place);
			put_backends(&f, flow, found);
		}
	}
	return any;
}

bool oracle_service(const struct cluster *cluster, const struct oracle_flow *flow,
		    struct oracle_service *found)
{
	bool has_address = false;

	found->n = 0;
	found->ns_name = found->name = NULL;
	if (find_ports(cluster, flow, false, found) || find_ports(cluster, flow, true, found))
		return true;
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *service = &cluster->services[i];

		if (!is_served(service) ||
		    (!among(service->addresses, service->n_addresses, &flow->destination) &&
		     !among(service->external, service->n_external, &flow->destination)))
			continue;
		has_address = true;
		name_first(found, service);
	}
	/* An address that is also a pod's or node's means that pod or node at all other ports. */
	return has_address && !pod_with(cluster, &flow->destination) &&
	       !node_with(cluster, &flow->destination);
}
