// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"
#include "selftests/lib/generator.h"

static const char *const values[] = {"x", "y", "z"};
static const uint16_t port_numbers[] = {53, 80, 81, 443, 8080};

static void make_host_pods(struct generator *g)
{
	for (uint32_t i = 0, n = g->cluster->n_nodes ? below(g, 3) : 0; i < n; i++) {
		const struct node *node = &g->cluster->nodes[below(g, g->cluster->n_nodes)];
		struct endpoint *pod = cluster_add_host_pod(g->cluster);

		pod->name = intern(g, (const char *[]){"host-0", "host-1"}[i]);
		pod->ns_name = intern(g, PICK(&g->random, namespace_names));
		pod->labels.at = allocate(g, 1, sizeof(*pod->labels.at));
		pod->labels.n = 1;
		pod->labels.at[0] = (struct label){intern(g, PICK(&g->random, keys)),
						   intern(g, PICK(&g->random, values))};
		pod->addresses = node->addresses;
		pod->n_addresses = 1;
		pod->node = node->name;
		pod->not_ready = chance(g, 15);
		pod->ports = allocate(g, 1, sizeof(*pod->ports));
		pod->n_ports = 1;
		pod->ports[0] = (struct named_port){intern(g, PICK(&g->random, port_names)),
						    IPPROTO_TCP, PICK(&g->random, port_numbers)};
	}
}

static void make_readiness(struct generator *g)
{
	bool all = chance(g, 60);

	for (size_t i = 0; !all && i < g->cluster->n_endpoints; i++) {
		g->cluster->endpoints[i].not_ready = chance(g, 20);
		g->cluster->endpoints[i].terminating = chance(g, 15);
	}
}

static void make_selector(struct generator *g, struct service *service)
{
	service->has_selector = chance(g, 75);
	service->selector.at = allocate(g, 2, sizeof(*service->selector.at));
	for (uint32_t n = service->has_selector ? 1 + chance(g, 25) : 0, first = below(g, 3); n;
	     n--) {
		struct requirement *one = &service->selector.at[service->selector.n++];

		*one = (struct requirement){.key = intern(g, keys[(first + n) % COUNT(keys)]),
					    .op = SELECTOR_IN,
					    .n_values = 1};
		one->values = allocate(g, 1, sizeof(*one->values));
		one->values[0] = intern(g, PICK(&g->random, values));
	}
}

static void make_ports(struct generator *g, struct service *service, uint16_t node_port)
{
	size_t n = 1 + chance(g, 40);

	service->ports = allocate(g, n, sizeof(*service->ports));
	for (size_t i = 0; i < n; i++) {
		struct service_port port = {.protocol = PICK(&g->random, protocols),
					    .port = PICK(&g->random, port_numbers)};

		if (i && service->ports[0].port == port.port &&
		    service->ports[0].protocol == port.protocol)
			continue;
		if (n > 1 || chance(g, 50))
			port.name = intern(g, i ? "second" : "first");
		if (chance(g, 30))
			port.target_name = intern(g, PICK(&g->random, port_names));
		else
			port.target = chance(g, 50) ? port.port : PICK(&g->random, port_numbers);
		if (service->type == SERVICE_ADDRESSED && chance(g, 40))
			port.node_port = node_port + i;
		service->ports[service->n_ports++] = port;
	}
}

/* Two Services may share an external address, or have an endpoint's or node's. */
static void make_external(struct generator *g, struct service *service)
{
	service->external = allocate(g, 2, sizeof(*service->external));
	for (uint32_t n = chance(g, 35) ? 1 + chance(g, 30) : 0; n; n--)
		service->external[service->n_external++] =
			make_address(chance(g, 60), below(g, 2), n == 1 ? 20 : below(g, 14));
}

static void make_addresses(struct generator *g, struct service *service, uint32_t number)
{
	uint32_t families = below(g, 4);

	service->addresses = allocate(g, 2, sizeof(*service->addresses));
	if (families != 1)
		service->addresses[service->n_addresses++] = make_address(true, 2, number);
	if (families != 0)
		service->addresses[service->n_addresses++] = make_address(false, 2, number);
	/* An address that is a node's or endpoint's as well. */
	if (chance(g, 5))
		service->addresses[0] = make_address(families != 1, 0, number * 4 + below(g, 4));
}

static struct service *make_service(struct generator *g, uint32_t number)
{
	static const enum service_type types[] = {SERVICE_ADDRESSED, SERVICE_ADDRESSED,
						  SERVICE_ADDRESSED, SERVICE_ADDRESSED,
						  SERVICE_HEADLESS,  SERVICE_EXTERNAL_NAME};
	struct service *service = cluster_add_service(g->cluster);

	service->name = intern(g, (const char *[]){"svc-0", "svc-1", "svc-2", "svc-3"}[number]);
	service->ns_name = intern(g, PICK(&g->random, namespace_names));
	service->type = PICK(&g->random, types);
	make_selector(g, service);
	make_ports(g, service, 30000 + 2 * number);
	service->any_ready = chance(g, 10);
	service->internal_local = chance(g, 15);
	service->external_local = chance(g, 20);
	if (service->type != SERVICE_ADDRESSED)
		return service;
	make_external(g, service);
	if (chance(g, 95))
		make_addresses(g, service, number);
	return service;
}

/* Picks an endpoint's, a node's or a foreign address; false: not of this family. */
static bool pick_address(struct generator *g, bool ipv4, struct address *address)
{
	const struct cluster *cluster = g->cluster;
	uint32_t kind = below(g, 10);

	*address = make_address(ipv4, 1, below(g, 24));
	if (kind < 7 && cluster->n_endpoints) {
		const struct endpoint *pod = &cluster->endpoints[below(g, cluster->n_endpoints)];

		*address = pod->addresses[below(g, pod->n_addresses)];
	} else if (kind < 9 && cluster->n_nodes) {
		*address = cluster->nodes[below(g, cluster->n_nodes)].addresses[0];
	}
	return address_is_ipv4(address) == ipv4;
}

static void make_slice(struct generator *g, const struct service *service, bool ipv4,
		       const char *name)
{
	struct slice *slice = cluster_add_slice(g->cluster);

	slice->name = intern(g, name);
	slice->ns_name = service->ns_name;
	slice->service = service->name;
	slice->ports = allocate(g, service->n_ports, sizeof(*slice->ports));
	for (size_t i = 0; i < service->n_ports; i++)
		if (chance(g, 90))
			slice->ports[slice->n_ports++] = (struct slice_port){
				service->ports[i].name, service->ports[i].protocol,
				PICK(&g->random, port_numbers)};
	slice->endpoints = allocate(g, 4, sizeof(*slice->endpoints));
	for (uint32_t n = below(g, 5); n; n--) {
		struct slice_endpoint *one = &slice->endpoints[slice->n_endpoints];
		struct address *address = allocate(g, 1, sizeof(*address));

		if (!pick_address(g, ipv4, address))
			continue;
		one->addresses = address;
		one->n_addresses = 1;
		one->ready = chance(g, 70);
		one->serving = one->ready || chance(g, 50);
		one->terminating = !one->ready && chance(g, 60);
		if (chance(g, 50))
			one->node = intern(g, chance(g, 50) ? "node-0" : "node-1");
		slice->n_endpoints++;
	}
}

void generate_services(struct cluster *cluster, uint64_t seed)
{
	struct generator g = {.random = {seed ^ 0x73657276}, .cluster = cluster};
	uint32_t n = below(&g, 5);
	char name[32];

	if (!n)
		return;
	make_host_pods(&g);
	make_readiness(&g);
	for (uint32_t i = 0; i < n; i++) {
		const struct service *service = make_service(&g, i);

		if (service->type == SERVICE_EXTERNAL_NAME || chance(&g, 60))
			continue;
		for (uint32_t j = 0, slices = 1 + below(&g, 3); j < slices; j++) {
			snprintf(name, sizeof(name), "%s-%u", service->name, j);
			make_slice(&g, service, chance(&g, 65), name);
		}
	}
}
