// SPDX-License-Identifier: GPL-2.0-only
#include "model/service.h"

#include <stdlib.h>
#include <string.h>

#include "model/arrays.h"

struct service *cluster_add_service(struct cluster *cluster)
{
	return array_grow((void **)&cluster->services, &cluster->n_services,
			  sizeof(*cluster->services));
}

struct slice *cluster_add_slice(struct cluster *cluster)
{
	return array_grow((void **)&cluster->slices, &cluster->n_slices, sizeof(*cluster->slices));
}

static int service_order(const void *a, const void *b)
{
	const struct service *left = a, *right = b;
	int order = strcmp(left->ns_name, right->ns_name);

	if (!order)
		order = strcmp(left->name, right->name);
	return order ? order : where_order(&left->where, &right->where);
}

static int slice_identity_order(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;
	int order = strcmp(left->ns_name, right->ns_name);

	if (!order)
		order = strcmp(left->name, right->name);
	return order ? order : where_order(&left->where, &right->where);
}

static const char *text_of(const char *name)
{
	return name ? name : "";
}

/* Sorts a Service's slices next to each other. */
static int slice_order(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;
	int order = strcmp(left->ns_name, right->ns_name);

	if (!order)
		order = strcmp(text_of(left->service), text_of(right->service));
	return order ? order : strcmp(left->name, right->name);
}

static void finish_services(struct cluster *cluster, struct diag *diag)
{
	array_order(cluster->services, cluster->n_services, sizeof(*cluster->services),
		    service_order);
	for (size_t i = 0; i < cluster->n_services; i++) {
		struct service *service = &cluster->services[i];

		service->n_addresses = addresses_sort(service->addresses, service->n_addresses);
		service->n_external = addresses_sort(service->external, service->n_external);
		if (i && !strcmp(service[-1].ns_name, service->ns_name) &&
		    !strcmp(service[-1].name, service->name))
			given_twice(diag, &service[-1].where, &service->where, "Service",
				    service->ns_name, service->name);
	}
}

static void finish_slices(struct cluster *cluster, struct diag *diag)
{
	size_t n = cluster->n_slices, size = sizeof(*cluster->slices);

	array_order(cluster->slices, n, size, slice_identity_order);
	for (size_t i = 1; i < n; i++) {
		const struct slice *first = &cluster->slices[i - 1], *second = first + 1;

		if (!strcmp(first->ns_name, second->ns_name) && !strcmp(first->name, second->name))
			given_twice(diag, &first->where, &second->where, "EndpointSlice",
				    second->ns_name, second->name);
	}
	array_order(cluster->slices, n, size, slice_order);
}

/* Services and slices are both sorted by namespace and Service. */
static void attach_slices(struct cluster *cluster)
{
	size_t at = 0;

	for (size_t i = 0; i < cluster->n_services; i++) {
		struct service *service = &cluster->services[i];

		for (; at < cluster->n_slices; at++) {
			const struct slice *slice = &cluster->slices[at];
			int order = strcmp(slice->ns_name, service->ns_name);

			if (!order)
				order = strcmp(text_of(slice->service), service->name);
			if (order > 0)
				break;
			if (!order && !service->n_slices++)
				service->slices = at;
		}
	}
}

/* Kinds of owners of an address. The last two are Services'. */
enum owner_kind { OWNER_ENDPOINT, OWNER_NODE, OWNER_SERVICE, OWNER_EXTERNAL };

struct owner {
	struct address address;
	enum owner_kind kind;
	const char *ns_name, *name;
	const struct service *service; /* NULL: an endpoint or node owns the address */
	const struct where *where;
};

/* Orders Services of one address by their place in the array, too. */
static int owner_order(const void *a, const void *b)
{
	const struct owner *left = a, *right = b;
	int order = memcmp(&left->address, &right->address, sizeof(left->address));

	if (order)
		return order;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return left->service < right->service ? -1 : left->service > right->service;
}

struct owners {
	struct owner *at;
	size_t n;
};

static void add_owners(struct owners *owners, const struct address *addresses, size_t n,
		       struct owner owner)
{
	for (size_t i = 0; i < n; i++) {
		owner.address = addresses[i];
		owners->at[owners->n++] = owner;
	}
}

static struct owners list_owners(const struct cluster *cluster)
{
	struct owners owners = {0};
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		n += cluster->endpoints[i].n_addresses;
	for (size_t i = 0; i < cluster->n_nodes; i++)
		n += cluster->nodes[i].n_addresses;
	for (size_t i = 0; i < cluster->n_services; i++)
		n += cluster->services[i].n_addresses + cluster->services[i].n_external;
	owners.at = check_memory(calloc(n + 1, sizeof(*owners.at)));
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *one = &cluster->endpoints[i];

		add_owners(&owners, one->addresses, one->n_addresses,
			   (struct owner){.kind = OWNER_ENDPOINT,
					  .ns_name = one->ns_name,
					  .name = one->name,
					  .where = &one->where});
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *one = &cluster->nodes[i];

		add_owners(&owners, one->addresses, one->n_addresses,
			   (struct owner){
				   .kind = OWNER_NODE, .name = one->name, .where = &one->where});
	}
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *one = &cluster->services[i];
		struct owner owner = {.kind = OWNER_SERVICE,
				      .ns_name = one->ns_name,
				      .name = one->name,
				      .service = one,
				      .where = &one->where};

		add_owners(&owners, one->addresses, one->n_addresses, owner);
		owner.kind = OWNER_EXTERNAL;
		add_owners(&owners, one->external, one->n_external, owner);
	}
	array_order(owners.at, owners.n, sizeof(*owners.at), owner_order);
	return owners;
}

/* Returns the first port that both Services have; NULL: none. */
static const struct service_port *shared_port(const struct service *a, const struct service *b)
{
	for (size_t i = 0; i < a->n_ports; i++)
		for (size_t j = 0; j < b->n_ports; j++)
			if (a->ports[i].protocol == b->ports[j].protocol &&
			    a->ports[i].port == b->ports[j].port)
				return &a->ports[i];
	return NULL;
}

static void tell_clash(struct diag *diag, enum diag_level level, const struct owner *first,
		       const struct owner *second, const char *meaning)
{
	static const char *const kinds[] = {[OWNER_ENDPOINT] = "Pod",
					    [OWNER_NODE] = "Node",
					    [OWNER_SERVICE] = "Service",
					    [OWNER_EXTERNAL] = "Service"};
	char text[ADDRESS_TEXT];

	diag_report(diag, level, second->where, NULL,
		    "Service %s/%s has the address %s, which is %s %s%s%s's too (%s:%u)%s",
		    second->ns_name, second->name, address_print(&second->address, text),
		    kinds[first->kind], text_of(first->ns_name), first->ns_name ? "/" : "",
		    first->name, text_of(first->where->file), first->where->line, meaning);
}

/* Checks two owners of one address: two Services, or a Service and an endpoint or node. */
static void check_clash(const struct owner *first, const struct owner *second, struct diag *diag)
{
	if (first->service == second->service)
		return;
	/* An external address is often a node's: that is how packets to it reach a node. */
	if (first->kind == OWNER_NODE && second->kind == OWNER_EXTERNAL)
		return;
	if (!first->service)
		tell_clash(diag, DIAG_WARNING, first, second,
			   ": at the Service's ports it stands for the Service");
	else if (first->kind == OWNER_SERVICE && second->kind == OWNER_SERVICE)
		tell_clash(diag, DIAG_ERROR, first, second, "");
	else if (shared_port(first->service, second->service))
		tell_clash(diag, DIAG_WARNING, first, second,
			   ", with a port of it: it stands for the backends of both");
}

static void check_addresses(const struct cluster *cluster, struct diag *diag)
{
	struct owners owners = list_owners(cluster);

	for (size_t i = 0; i < owners.n; i++)
		for (size_t j = i + 1; j < owners.n && !diag_full(diag); j++) {
			if (memcmp(&owners.at[i].address, &owners.at[j].address,
				   sizeof(struct address)))
				break;
			if (owners.at[j].service)
				check_clash(&owners.at[i], &owners.at[j], diag);
		}
	free(owners.at);
}

static int pod_order(const void *a, const void *b)
{
	const struct endpoint *left = a, *right = b;
	int order = strcmp(left->ns_name, right->ns_name);

	return order ? order : strcmp(left->name, right->name);
}

struct node_port {
	const struct service *service;
	const struct service_port *port;
};

static int node_port_order(const void *a, const void *b)
{
	const struct node_port *left = a, *right = b;

	if (left->port->node_port != right->port->node_port)
		return left->port->node_port < right->port->node_port ? -1 : 1;
	if (left->port->protocol != right->port->protocol)
		return left->port->protocol < right->port->protocol ? -1 : 1;
	return left->port < right->port ? -1 : left->port > right->port;
}

static void check_node_ports(const struct cluster *cluster, struct diag *diag)
{
	struct node_port *ports;
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_services; i++)
		n += cluster->services[i].n_ports;
	ports = check_memory(calloc(n + 1, sizeof(*ports)));
	n = 0;
	for (size_t i = 0; i < cluster->n_services; i++)
		for (size_t j = 0; j < cluster->services[i].n_ports; j++)
			if (cluster->services[i].ports[j].node_port)
				ports[n++] = (struct node_port){&cluster->services[i],
								&cluster->services[i].ports[j]};
	array_order(ports, n, sizeof(*ports), node_port_order);
	for (size_t i = 1; i < n; i++) {
		const struct node_port *first = &ports[i - 1], *second = &ports[i];
		const struct service *one = first->service, *other = second->service;

		if (first->port->node_port == second->port->node_port &&
		    first->port->protocol == second->port->protocol)
			diag_error(diag, &other->where, NULL,
				   "Service %s/%s has the node port %u, which is Service %s/%s's "
				   "too (%s:%u)",
				   other->ns_name, other->name, second->port->node_port,
				   one->ns_name, one->name, text_of(one->where.file),
				   one->where.line);
	}
	free(ports);
}

static int cidr_order(const void *a, const void *b)
{
	const struct cidr *left = a, *right = b;
	int order = memcmp(&left->address, &right->address, sizeof(left->address));

	return order ? order : left->length < right->length ? -1 : left->length > right->length;
}

static void finish_cidrs(struct cluster *cluster)
{
	size_t kept = 0;

	array_order(cluster->service_cidrs, cluster->n_service_cidrs,
		    sizeof(*cluster->service_cidrs), cidr_order);
	for (size_t i = 0; i < cluster->n_service_cidrs; i++)
		if (!kept ||
		    cidr_order(&cluster->service_cidrs[kept - 1], &cluster->service_cidrs[i]))
			cluster->service_cidrs[kept++] = cluster->service_cidrs[i];
	cluster->n_service_cidrs = kept;
}

/* Returns the first address of @addresses in the CIDR; NULL: none is. */
static const struct address *first_inside(const struct cidr *cidr, const struct address *addresses,
					  size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cidr_contains(cidr, &addresses[i]))
			return &addresses[i];
	return NULL;
}

/* Warns of an address in the service CIDR that has an owner. The owner keeps it, but the CIDR is
 * probably wrong. */
static void check_cidr(const struct cluster *cluster, const struct cidr *cidr, struct diag *diag)
{
	char cidr_text[ADDRESS_TEXT], text[ADDRESS_TEXT];

	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *one = &cluster->endpoints[i];
		const struct address *inside = first_inside(cidr, one->addresses, one->n_addresses);

		if (!inside)
			continue;
		diag_warn(diag, &one->where, NULL,
			  "service-cidr %s holds %s, the address of Pod %s/%s",
			  cidr_print(cidr, cidr_text), address_print(inside, text), one->ns_name,
			  one->name);
		return;
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *one = &cluster->nodes[i];
		const struct address *inside = first_inside(cidr, one->addresses, one->n_addresses);

		if (!inside)
			continue;
		diag_warn(diag, &one->where, NULL,
			  "service-cidr %s holds %s, the address of Node %s",
			  cidr_print(cidr, cidr_text), address_print(inside, text), one->name);
		return;
	}
}

void services_finish(struct cluster *cluster, struct diag *diag)
{
	finish_cidrs(cluster);
	for (size_t i = 0; i < cluster->n_service_cidrs; i++)
		check_cidr(cluster, &cluster->service_cidrs[i], diag);
	finish_slices(cluster, diag);
	/* Sorted, so that a Service finds the pods of its namespace and equal inputs give equal
	 * bytes. */
	array_order(cluster->host_pods, cluster->n_host_pods, sizeof(*cluster->host_pods),
		    pod_order);
	if (!cluster->n_services)
		return;
	finish_services(cluster, diag);
	attach_slices(cluster);
	check_addresses(cluster, diag);
	check_node_ports(cluster, diag);
}
