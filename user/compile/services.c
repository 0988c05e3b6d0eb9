// SPDX-License-Identifier: GPL-2.0-only
/*
 * Services → the frontends that stand for them, and the backends behind each port: those of the
 * EndpointSlices; for a Service without any, the pods that its selector selects, as the
 * cluster's controller would list them.
 */
#include "compile/tables.h"
#include "model/search.h"
#include "model/cluster_service.h"

/* An address of a node, and the node's name. Sorted by address. */
struct node_address {
	struct address address;
	uint32_t node;
};

/* Makes the records of one Service port. */
struct maker {
	struct tables *t;
	const struct cluster *cluster;
	const struct service *service;
	struct node_address *nodes;
	size_t n_nodes;
	ARRAY(struct policy_backend) backends; /* backends of the current port */
};

static int compare_node_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

static void list_nodes(struct maker *m)
{
	const struct policy *policy = m->t->policy;

	m->nodes = grow_zeroed(policy->n_node_addresses, sizeof(*m->nodes));
	for (size_t i = 0; i < policy->n_nodes; i++) {
		const struct policy_node *node = &policy->nodes[i];

		for (uint32_t k = 0; k < node->addresses.n; k++)
			m->nodes[m->n_nodes++] = (struct node_address){
				policy->node_addresses[node->addresses.at + k], node->name};
	}
	sort_records(m->nodes, m->n_nodes, sizeof(*m->nodes), compare_node_addresses);
}

static const struct node_address *find_node(const struct maker *m, const struct address *address)
{
	return policy_search(address, m->nodes, m->n_nodes, sizeof(*m->nodes),
			     compare_node_addresses);
}

/* Returns the node of an address that is no endpoint's: @said, else the node that has the
 * address. */
static uint32_t node_of(const struct maker *m, const struct address *address, const char *said)
{
	const struct node_address *node = said ? NULL : find_node(m, address);

	return node ? node->node : tables_string(m->t, said);
}

static void add_backends(struct maker *m, const struct address *addresses, size_t n,
			 struct policy_backend backend, const char *node)
{
	for (size_t i = 0; i < n; i++) {
		backend.address = addresses[i];
		backend.node = node_of(m, &addresses[i], node);
		array_push(&m->backends, backend);
	}
}

static bool same_name(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static uint8_t slice_flags(const struct slice_endpoint *endpoint)
{
	return (endpoint->ready ? POLICY_BACKEND_READY : 0) |
	       (endpoint->serving ? POLICY_BACKEND_SERVING : 0) |
	       (endpoint->terminating ? POLICY_BACKEND_TERMINATING : 0);
}

static void add_slice(struct maker *m, const struct slice *slice, uint16_t port)
{
	for (size_t i = 0; i < slice->n_endpoints; i++) {
		const struct slice_endpoint *endpoint = &slice->endpoints[i];

		add_backends(m, endpoint->addresses, endpoint->n_addresses,
			     (struct policy_backend){.port = port, .flags = slice_flags(endpoint)},
			     endpoint->node);
	}
}

/* @port NULL: a headless Service without ports. */
static void add_slices(struct maker *m, const struct service_port *port)
{
	const struct slice *slices = m->cluster->slices + m->service->slices;

	for (size_t i = 0; i < m->service->n_slices; i++) {
		if (!port)
			add_slice(m, &slices[i], 0);
		for (size_t j = 0; port && j < slices[i].n_ports; j++)
			if (same_name(slices[i].ports[j].name, port->name) &&
			    slices[i].ports[j].protocol == port->protocol)
				add_slice(m, &slices[i], slices[i].ports[j].port);
	}
}

static uint8_t pod_flags(const struct service *service, const struct endpoint *pod)
{
	bool ready = service->any_ready || (!pod->not_ready && !pod->terminating);

	return (ready ? POLICY_BACKEND_READY : 0) | (pod->not_ready ? 0 : POLICY_BACKEND_SERVING) |
	       (pod->terminating ? POLICY_BACKEND_TERMINATING : 0);
}

static void add_pod(struct maker *m, const struct endpoint *pod, const struct service_port *port)
{
	struct policy_backend backend = {.port = port ? port->target : 0,
					 .flags = pod_flags(m->service, pod)};

	if (!port || port->target) {
		add_backends(m, pod->addresses, pod->n_addresses, backend, pod->node);
		return;
	}
	for (size_t i = 0; i < pod->n_ports; i++) {
		if (pod->ports[i].protocol != port->protocol ||
		    strcmp(pod->ports[i].name, port->target_name))
			continue;
		backend.port = pod->ports[i].port;
		add_backends(m, pod->addresses, pod->n_addresses, backend, pod->node);
	}
}

/* @pods are sorted by namespace. */
static void add_selected(struct maker *m, const struct endpoint *pods, size_t n,
			 const struct service_port *port)
{
	const char *ns = m->service->ns_name;
	for (size_t i = SEARCH(n, k, strcmp(pods[k].ns_name, ns) < 0);
	     i < n && !strcmp(pods[i].ns_name, ns); i++)
		if (selector_matches(&m->service->selector, &pods[i].labels))
			add_pod(m, &pods[i], port);
}

static int compare_backends(const void *a, const void *b)
{
	const struct policy_backend *x = a, *y = b;
	int order = memcmp(&x->address, &y->address, sizeof(x->address));

	if (order)
		return order;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* Two slices may list one address while the controller moves it between them. */
static struct policy_range put_backends(struct maker *m)
{
	struct policy *policy = m->t->policy;
	struct policy_range range = {policy->n_backends, 0};

	array_sort(&m->backends, compare_backends);
	for (size_t i = 0; i < m->backends.n; i++) {
		const struct policy_backend *backend = &m->backends.at[i];
		struct policy_backend *last =
			range.n ? &policy->backends[policy->n_backends - 1] : NULL;

		if (last && !compare_backends(last, backend)) {
			last->flags |= backend->flags;
			continue;
		}
		table_push(m->t, backends, *backend);
		range.n++;
	}
	m->backends.n = 0;
	return range;
}

static struct policy_range make_backends(struct maker *m, const struct service_port *port)
{
	const struct cluster *cluster = m->cluster;

	if (m->service->closed)
		return put_backends(m);
	if (m->service->n_slices) {
		add_slices(m, port);
	} else if (m->service->has_selector) {
		add_selected(m, cluster->endpoints, cluster->n_endpoints, port);
		add_selected(m, cluster->host_pods, cluster->n_host_pods, port);
	}
	return put_backends(m);
}

static bool has_address(const struct service *service, const struct address *address)
{
	for (size_t i = 0; i < service->n_addresses; i++)
		if (!memcmp(&service->addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

static void put_frontend(struct maker *m, const struct address *address,
			 const struct policy_frontend *shape)
{
	struct policy_frontend frontend = *shape;

	frontend.address = *address;
	if (policy_address_find(m->t->policy, address) || find_node(m, address))
		frontend.flags |= POLICY_FRONTEND_SHARED;
	table_push(m->t, frontends, frontend);
}

/* kube-proxy does not serve a Service without an address from the cluster, whatever other
 * addresses it has. */
static void put_frontends(struct maker *m, const struct service_port *port, uint32_t number)
{
	static const struct address any;
	const struct service *service = m->service;
	struct policy_frontend frontend = {.service_port = number,
					   .port = port->port,
					   .protocol = port->protocol,
					   .flags = service->internal_local ? POLICY_FRONTEND_LOCAL
									    : 0};
	size_t n_addresses = service->n_addresses, n_external = service->n_external;

	/* one port makes the addresses a Service's at every port */
	if (service->closed && port != service->ports)
		n_addresses = n_external = 0;
	for (size_t i = 0; i < n_addresses; i++)
		put_frontend(m, &service->addresses[i], &frontend);
	frontend.flags =
		POLICY_FRONTEND_EXTERNAL | (service->external_local ? POLICY_FRONTEND_LOCAL : 0);
	for (size_t i = 0; service->n_addresses && i < n_external; i++)
		if (!has_address(service, &service->external[i]))
			put_frontend(m, &service->external[i], &frontend);
	frontend.port = port->node_port;
	if (service->n_addresses && port->node_port)
		put_frontend(m, &any, &frontend);
}

static void put_port(struct maker *m, const struct service_port *port, uint32_t service)
{
	struct policy_service_port record = {.service = service,
					     .port = port ? port->port : 0,
					     .protocol = port ? port->protocol : 0,
					     .backends = make_backends(m, port)};
	uint32_t number = m->t->policy->n_service_ports;

	table_push(m->t, service_ports, record);
	if (port && m->service->type == SERVICE_ADDRESSED)
		put_frontends(m, port, number);
}

static void put_service(struct maker *m, uint32_t number)
{
	static const uint32_t flags[] = {[SERVICE_HEADLESS] = POLICY_SERVICE_HEADLESS,
					 [SERVICE_EXTERNAL_NAME] = POLICY_SERVICE_EXTERNAL_NAME,
					 [SERVICE_ADDRESSED] = 0};
	const struct service *service = m->service;
	struct policy_service record = {.ns = tables_string(m->t, service->ns_name),
					.name = tables_string(m->t, service->name),
					.flags = flags[service->type],
					.ports = {m->t->policy->n_service_ports, 0}};

	for (size_t i = 0; service->type != SERVICE_EXTERNAL_NAME && i < service->n_ports; i++)
		put_port(m, &service->ports[i], number);
	if (service->type == SERVICE_HEADLESS && !service->n_ports)
		put_port(m, NULL, number);
	record.ports.n = m->t->policy->n_service_ports - record.ports.at;
	table_push(m->t, services, record);
}

static int compare_frontends(const void *a, const void *b)
{
	const struct policy_frontend *x = a, *y = b;
	int order = memcmp(&x->address, &y->address, sizeof(x->address));

	if (order)
		return order;
	if (x->protocol != y->protocol)
		return x->protocol < y->protocol ? -1 : 1;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->service_port < y->service_port ? -1 : x->service_port > y->service_port;
}

void services_put(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;
	struct maker m = {.t = t, .cluster = cluster};

	for (size_t i = 0; i < cluster->n_resolvers; i++)
		table_push(t, resolvers, ((struct policy_cidr){cluster->resolvers[i], 128}));
	for (size_t i = 0; i < cluster->n_service_cidrs; i++)
		table_push(t, service_cidrs,
			   ((struct policy_cidr){cluster->service_cidrs[i].address,
						 cluster->service_cidrs[i].length}));
	if (!cluster->n_services)
		return;
	list_nodes(&m);
	for (size_t i = 0; i < cluster->n_services; i++) {
		m.service = &cluster->services[i];
		put_service(&m, i);
	}
	table_sort(t, frontends, compare_frontends);
	array_free(&m.backends);
	free(m.nodes);
}

/* Services whose EndpointSlices have changed */

/* Returns how a Service of the base is ordered to one of the cluster. */
static int order_service(const struct policy *base, const struct policy_service *known,
			 const struct service *service)
{
	const int order = strcmp(policy_string(base, known->ns), service->ns_name);

	return order ? order : strcmp(policy_string(base, known->name), service->name);
}

/* Copies the base's backends of the Service's ports. */
static void keep_backends(struct maker *m, const struct policy *base,
			  const struct policy_service *known)
{
	struct policy *policy = m->t->policy;

	for (uint32_t i = known->ports.at; i < known->ports.at + known->ports.n; i++) {
		const struct policy_range had = base->service_ports[i].backends;

		policy->service_ports[i].backends =
			(struct policy_range){policy->n_backends, had.n};
		for (uint32_t k = 0; k < had.n; k++)
			table_push(m->t, backends, base->backends[had.at + k]);
	}
}

/* Makes the backends of the Service's ports. Returns false if it has other ports than in the base.
 */
static bool renew_backends(struct maker *m, const struct policy_service *known)
{
	struct policy *policy = m->t->policy;
	const struct service *service = m->service;
	const bool portless = service->type == SERVICE_HEADLESS && !service->n_ports;
	const size_t n = service->type == SERVICE_EXTERNAL_NAME ? 0 : service->n_ports + portless;

	if (known->ports.n != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct service_port *port = portless ? NULL : &service->ports[i];
		struct policy_service_port *record = &policy->service_ports[known->ports.at + i];

		if (port && (port->port != record->port || port->protocol != record->protocol))
			return false;
		record->backends = make_backends(m, port);
	}
	return true;
}

bool services_renew(struct tables *t, const struct policy *base, const struct cluster *changed)
{
	struct maker m = {.t = t, .cluster = changed};
	size_t next = 0;
	bool good = true;

	list_nodes(&m);
	for (size_t i = 0; good && i < base->n_services; i++) {
		const struct policy_service *known = &base->services[i];

		m.service = next < changed->n_services ? &changed->services[next] : NULL;
		if (m.service && !order_service(base, known, m.service)) {
			good = renew_backends(&m, known);
			next++;
		} else {
			keep_backends(&m, base, known);
		}
	}
	array_free(&m.backends);
	free(m.nodes);
	return good && next == changed->n_services;
}
