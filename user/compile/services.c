// SPDX-License-Identifier: GPL-2.0-only
/*
 * Services → the frontends that stand for them, and the backends behind each port: those of the
 * EndpointSlices; for a Service without any, the pods that its selector selects, as the
 * cluster's controller would list them.
 */
#include "compile/tables.h"
#include "compile/update.h"
#include "model/search.h"
#include "model/cluster_service.h"

#define NONE UINT32_MAX

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

/* Returns the range of records [@from, @to). An empty one is at 0, as everywhere in a policy. */
static struct policy_range between(uint32_t from, uint32_t to)
{
	return from == to ? (struct policy_range){0} : (struct policy_range){from, to - from};
}

/* Two slices may list one address while the controller moves it between them. */
static struct policy_range put_backends(struct maker *m)
{
	struct policy *policy = m->t->policy;
	const uint32_t from = policy->n_backends;

	array_sort(&m->backends, compare_backends);
	for (size_t i = 0; i < m->backends.n; i++) {
		const struct policy_backend *backend = &m->backends.at[i];
		struct policy_backend *last = policy->n_backends > from
						      ? &policy->backends[policy->n_backends - 1]
						      : NULL;

		if (last && !compare_backends(last, backend)) {
			last->flags |= backend->flags;
			continue;
		}
		table_push(m->t, backends, *backend);
	}
	m->backends.n = 0;
	return between(from, policy->n_backends);
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
	const uint32_t from = m->t->policy->n_service_ports;
	struct policy_service record = {.ns = tables_string(m->t, service->ns_name),
					.name = tables_string(m->t, service->name),
					.flags = flags[service->type]};

	for (size_t i = 0; service->type != SERVICE_EXTERNAL_NAME && i < service->n_ports; i++)
		put_port(m, &service->ports[i], number);
	if (service->type == SERVICE_HEADLESS && !service->n_ports)
		put_port(m, NULL, number);
	record.ports = between(from, m->t->policy->n_service_ports);
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

/* Services of some namespaces anew */

struct renewal {
	struct maker m;
	const struct policy *base;
	uint32_t *port_at; /* by the base's Service ports: index now; NONE: its Service is anew */
};

/* Puts a Service of the base with its ports and backends. */
static void keep_service(struct renewal *r, const struct policy_service *known)
{
	struct tables *t = r->m.t;
	const uint32_t from = t->policy->n_service_ports;
	struct policy_service record = *known;

	for (uint32_t i = known->ports.at; i < known->ports.at + known->ports.n; i++) {
		struct policy_service_port port = r->base->service_ports[i];
		const struct policy_range had = port.backends;
		const uint32_t first = t->policy->n_backends;

		for (uint32_t k = 0; k < had.n; k++)
			table_push(t, backends, r->base->backends[had.at + k]);
		port.service = t->policy->n_services;
		port.backends = between(first, t->policy->n_backends);
		r->port_at[i] = t->policy->n_service_ports;
		table_push(t, service_ports, port);
	}
	record.ports = between(from, t->policy->n_service_ports);
	table_push(t, services, record);
}

/* Returns how a Service of the base is ordered to one of the cluster. */
static int order_service(const struct policy *base, const struct policy_service *known,
			 const struct service *service)
{
	const int order = strcmp(policy_string(base, known->ns), service->ns_name);

	return order ? order : strcmp(policy_string(base, known->name), service->name);
}

static void put_anew(struct renewal *r, const struct service *service)
{
	r->m.service = service;
	put_service(&r->m, r->m.t->policy->n_services);
}

/* Puts all Services, by namespace and name, and the frontends of those of now. */
static void renew_services(struct renewal *r, const struct update_services *from)
{
	const struct policy *base = r->base;
	const struct service *now = from->cluster->services;
	const struct service *end = now + from->cluster->n_services;
	size_t ns = 0;

	for (size_t i = 0; i < base->n_services; i++) {
		const struct policy_service *known = &base->services[i];
		const char *name = policy_string(base, known->ns);

		while (ns < from->n_namespaces && strcmp(from->namespaces[ns], name) < 0)
			ns++;
		while (now < end && order_service(base, known, now) > 0)
			put_anew(r, now++);
		if (ns == from->n_namespaces || strcmp(from->namespaces[ns], name))
			keep_service(r, known);
	}
	while (now < end)
		put_anew(r, now++);
}

/* Puts the base's frontends of the Services that stay between those of now. */
static void renew_frontends(struct renewal *r)
{
	struct tables *t = r->m.t;
	const struct policy *base = r->base;
	const size_t n = t->policy->n_frontends;
	struct policy_frontend *now = grow_zeroed(n, sizeof(*now));
	size_t next = 0;

	table_sort(t, frontends, compare_frontends);
	if (n)
		memcpy(now, t->policy->frontends, n * sizeof(*now));
	t->policy->n_frontends = 0;
	for (size_t i = 0; i < base->n_frontends; i++) {
		struct policy_frontend kept = base->frontends[i];

		kept.service_port = r->port_at[kept.service_port];
		if (kept.service_port == NONE)
			continue;
		while (next < n && compare_frontends(&now[next], &kept) < 0)
			table_push(t, frontends, now[next++]);
		table_push(t, frontends, kept);
	}
	while (next < n)
		table_push(t, frontends, now[next++]);
	free(now);
}

void services_renew(struct tables *t, const struct policy *base, const struct update_services *from)
{
	struct renewal r = {.m = {.t = t, .cluster = from->cluster}, .base = base};

	r.port_at = grow_zeroed(base->n_service_ports, sizeof(*r.port_at));
	for (size_t i = 0; i < base->n_service_ports; i++)
		r.port_at[i] = NONE;
	list_nodes(&r.m);
	renew_services(&r, from);
	renew_frontends(&r);
	array_free(&r.m.backends);
	free(r.m.nodes);
	free(r.port_at);
}
