// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/frontend.h"
#include "policy/lazy_policy.h"
#include "maps/dns.h"
#include "node/local/discovery.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define NODE_LOCAL "169.254.20.10" /* NodeLocal DNSCache */

static int add(struct table *table, const struct address *address, uint32_t flags)
{
	const struct bh_addr key = bh_addr_from(address);
	const struct bh_resolver value = {.flags = flags};

	return table_find(table, &key) ? 0 : table_insert(table, &key, &value);
}

static int add_said(struct discovery *discovery, struct table *table)
{
	const struct node_options *options = discovery->handle->options;
	int error = 0;

	for (size_t i = 0; !error && i < options->n_resolvers; i++) {
		struct address address;

		error = address_parse(options->resolvers[i], &address);
		if (error)
			diag_error(discovery->handle->diag, NULL, NULL,
				   "resolver \"%s\": is not an IP address", options->resolvers[i]);
		else
			error = add(table, &address, BH_RESOLVER_SAID);
	}
	/* Options replace what the policy says. */
	for (size_t i = 0; !error && !options->n_resolvers && i < discovery->policy->n_resolvers;
	     i++)
		error = add(table, &discovery->policy->resolvers[i].address, BH_RESOLVER_SAID);
	return error;
}

uint32_t discover_dns_place(const struct lazy_policy *policy)
{
	const struct policy_service *services = LAZY_ALL(policy, services);

	for (size_t i = 0; i < policy->n_services; i++)
		if (!strcmp(lazy_read_string(policy, services[i].name), "kube-dns") &&
		    !strcmp(lazy_read_string(policy, services[i].ns), "kube-system"))
			return i;
	return UINT32_MAX;
}

/* Adds the Service's own addresses. A node port has none. */
static int add_frontends(const struct lazy_policy *policy, const struct policy_service *service,
			 struct table *table)
{
	const struct policy_frontend *frontends = LAZY_ALL(policy, frontends);
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const uint32_t port = frontends[i].service_port;

		if (port >= service->ports.at && port - service->ports.at < service->ports.n &&
		    frontends[i].port == BH_DNS_PORT && !frontend_is_node_port(&frontends[i]))
			error = add(table, &frontends[i].address, BH_RESOLVER_SERVICE);
	}
	return error;
}

int discover_dns_service(const struct lazy_policy *policy, struct table *table)
{
	const uint32_t place = discover_dns_place(policy);

	return place == UINT32_MAX ? 0 : add_frontends(policy, &policy->services[place], table);
}

/* Returns true if it is a cluster's own address of a Service, and a resolver's. Anybody's Service
 * may have an external address. */
static bool is_resolvers(const struct policy_frontend *frontend, const struct table *table)
{
	const struct bh_addr key = bh_addr_from(&frontend->address);
	const struct bh_resolver *resolver;

	if (frontend->port != BH_DNS_PORT || frontend_is_node_port(frontend) ||
	    frontend->flags & POLICY_FRONTEND_EXTERNAL)
		return false;
	resolver = table_find(table, &key);
	return resolver && resolver->flags & ~BH_RESOLVER_BACKEND;
}

static int add_backends(const struct lazy_policy *policy, uint32_t service_port,
			struct table *table)
{
	const struct policy_service_port *port = LAZY_ONE(policy, service_ports, service_port);
	const struct policy_backend *backends =
		LAZY_SOME(policy, backends, port->backends.at, port->backends.n);
	int error = 0;

	for (uint32_t i = 0; !error && i < port->backends.n; i++)
		error = add(table, &backends[i].address, BH_RESOLVER_BACKEND);
	return error;
}

int discover_resolver_backends(const struct lazy_policy *policy, struct table *table)
{
	const struct policy_frontend *frontends = LAZY_ALL(policy, frontends);
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_frontends; i++)
		if (is_resolvers(&frontends[i], table))
			error = add_backends(policy, frontends[i].service_port, table);
	return error;
}

static int add_node_local(const struct discovery *discovery, struct table *table)
{
	struct address address;
	bool there = false;

	address_parse(NODE_LOCAL, &address);
	for (size_t i = 0; !there && i < discovery->local->n_addresses; i++)
		there = !memcmp(&discovery->local->addresses[i], &address, sizeof(address));
	for (size_t i = 0; !there && i < discovery->n_link_locals; i++)
		there = !memcmp(&discovery->link_locals[i].address, &address, sizeof(address));
	return there ? add(table, &address, BH_RESOLVER_NODE) : 0;
}

/* Adds the name servers of resolv.conf. A file that cannot be read names none. */
static int add_node_servers(struct table *table)
{
	FILE *file = fopen(RESOLV_CONF, "re");
	char line[512], text[ADDRESS_TEXT];
	struct address address;
	int error = 0;

	while (file && !error && fgets(line, sizeof(line), file))
		if (sscanf(line, " nameserver %51s", text) == 1 && !address_parse(text, &address))
			error = add(table, &address, BH_RESOLVER_NODE);
	if (file)
		fclose(file);
	return error;
}

int discover_node_resolvers(const struct discovery *discovery, struct table *table)
{
	int error = add_node_local(discovery, table);

	return error || table->n ? error : add_node_servers(table);
}

int discover_resolvers(struct discovery *discovery)
{
	struct table *table = &discovery->local->resolvers;
	int error = add_said(discovery, table);

	if (!error && !table->n)
		error = discover_dns_service(policy_lazy(discovery->policy), table);
	if (!error &&
	    !(table->n && ((struct bh_resolver *)table_value(table, 0))->flags & BH_RESOLVER_SAID))
		error = discover_node_resolvers(discovery, table);
	if (!error)
		error = discover_resolver_backends(policy_lazy(discovery->policy), table);
	return error && error != -EINVAL
		       ? node_fail(discovery->handle, error, "cannot list the resolvers")
		       : error;
}
