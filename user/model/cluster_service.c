// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"

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

		if (first->port->node_port != second->port->node_port ||
		    first->port->protocol != second->port->protocol)
			continue;
		diag_report(diag, one->accepted && other->accepted ? DIAG_WARNING : DIAG_ERROR,
			    &other->where, NULL,
			    "Service %s/%s has the node port %u, which is Service %s/%s's "
			    "too (%s:%u)",
			    other->ns_name, other->name, second->port->node_port, one->ns_name,
			    one->name, text_of(one->where.file), one->where.line);
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
	owners_check(cluster, diag);
	check_node_ports(cluster, diag);
}
