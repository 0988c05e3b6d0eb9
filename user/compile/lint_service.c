/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "compile/lint_part.h"
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
