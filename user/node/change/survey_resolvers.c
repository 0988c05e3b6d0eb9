// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/frontend.h"
#include "maps/dns.h"
#include "node/change/survey.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define NODE_LOCAL "169.254.20.10" /* NodeLocal DNSCache */

static int add(struct table *table, const struct address *address, uint32_t flags)
{
	const struct bh_addr key = bh_addr_from(address);
	const struct bh_resolver value = {.flags = flags};

	return table_find(table, &key) ? 0 : table_insert(table, &key, &value);
}

static int add_said(struct survey *survey, struct table *table)
{
	const struct node_options *options = survey->handle->options;
	int error = 0;

	for (size_t i = 0; !error && i < options->n_resolvers; i++) {
		struct address address;

		error = address_parse(options->resolvers[i], &address);
		if (error)
			diag_error(survey->handle->diag, NULL, NULL,
				   "resolver \"%s\": is not an IP address", options->resolvers[i]);
		else
			error = add(table, &address, BH_RESOLVER_SAID);
	}
	/* Options replace what the policy says. */
	for (size_t i = 0; !error && !options->n_resolvers && i < survey->policy->n_resolvers; i++)
		error = add(table, &survey->policy->resolvers[i].address, BH_RESOLVER_SAID);
	return error;
}

static bool is_dns(const struct policy_service_port *port)
{
	return port->port == BH_DNS_PORT;
}

/* Adds the addresses of the Service kube-system/kube-dns and of its backends. */
int survey_dns_service(const struct policy *policy, struct table *table)
{
	const struct policy_service *service = service_by_name(policy, "kube-system", "kube-dns");
	const size_t at = service ? service - policy->services : 0;
	int error = 0;

	for (size_t i = 0; service && !error && i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct policy_service_port *port =
			&policy->service_ports[frontend->service_port];
		static const struct address none;

		if (port->service == at && is_dns(port) && frontend->port == BH_DNS_PORT &&
		    memcmp(&frontend->address, &none, sizeof(none)))
			error = add(table, &frontend->address, BH_RESOLVER_SERVICE);
	}
	for (uint32_t i = 0; service && !error && i < service->ports.n; i++) {
		const struct policy_service_port *port =
			&policy->service_ports[service->ports.at + i];

		for (uint32_t k = 0; is_dns(port) && !error && k < port->backends.n; k++)
			error = add(table, &policy->backends[port->backends.at + k].address,
				    BH_RESOLVER_SERVICE);
	}
	return error;
}

static int add_node_local(const struct survey *survey, struct table *table)
{
	struct address address;
	bool there = false;

	address_parse(NODE_LOCAL, &address);
	for (size_t i = 0; !there && i < survey->local->n_addresses; i++)
		there = !memcmp(&survey->local->addresses[i], &address, sizeof(address));
	for (size_t i = 0; !there && i < survey->n_link_locals; i++)
		there = !memcmp(&survey->link_locals[i].address, &address, sizeof(address));
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

int survey_resolvers(struct survey *survey)
{
	struct table *table = &survey->local->resolvers;
	int error = add_said(survey, table);

	if (!error && !table->n)
		error = survey_dns_service(survey->policy, table);
	if (!error &&
	    !(table->n && ((struct bh_resolver *)table_value(table, 0))->flags & BH_RESOLVER_SAID))
		error = add_node_local(survey, table);
	if (!error && !table->n)
		error = add_node_servers(table);
	return error && error != -EINVAL
		       ? node_fail(survey->handle, error, "cannot list the resolvers")
		       : error;
}
