// SPDX-License-Identifier: GPL-2.0-only
#include "node/observe/newcomers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "maps/tunnel.h"
#include "node/kernel/maps.h"
#include "node/local/discovery.h"

bool newcomers_has(const struct table *ifaces, const struct link *link)
{
	return link->up && !link->loopback && !table_find(ifaces, &link->ifindex);
}

static int find_interfaces(struct node_handle *handle, const struct table *ifaces,
			   struct newcomers *newcomers)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(handle->rtnl, &links, &n);

	if (error)
		return node_fail(handle, error, "cannot list the interfaces");
	newcomers->ifaces = calloc(n + 1, sizeof(*newcomers->ifaces));
	if (!newcomers->ifaces)
		return node_fail(handle, -ENOMEM, "cannot list the interfaces");
	for (size_t i = 0; i < n; i++) {
		struct newcomer *newcomer = &newcomers->ifaces[newcomers->n];

		if (!newcomers_has(ifaces, &links[i]))
			continue;
		newcomer->ifindex = links[i].ifindex;
		memcpy(newcomer->name, links[i].name, sizeof(newcomer->name));
		newcomers->n++;
	}
	return 0;
}

static int find_tunnel(struct node_handle *handle, struct newcomers *newcomers)
{
	CLEANUP(table_free) struct table ports = {};
	int error;

	maps_init_table(MAP_tunnels, &ports);
	error = discover_tunnel_ports(handle, &ports);
	for (size_t i = 0; !error && i < ports.n; i++) {
		const struct bh_tunnel_key *key = table_key(&ports, i);
		struct bh_tunnel value;

		if (maps_lookup(handle, MAP_tunnels, key, &value))
			newcomers->tunnel = key->port;
	}
	return error;
}

/* Options or the policy may name the uplinks; else those of the default routes are the uplinks. */
static int find_uplink(struct node_handle *handle, const struct table *ifaces,
		       struct newcomers *newcomers)
{
	SCOPED_FREE uint32_t *ifindexes = NULL;
	size_t n = 0;
	int error = 0;

	if (!handle->options->n_uplinks && !handle->policy->uplinks_n)
		error = rtnl_default_routes(handle->rtnl, &ifindexes, &n);
	if (error)
		return node_fail(handle, error, "cannot list the default routes");
	for (size_t i = 0; i < n; i++) {
		const struct bh_iface *iface = table_find(ifaces, &ifindexes[i]);

		if (iface && !(iface->flags & BH_IFACE_UPLINK))
			newcomers->uplink = ifindexes[i];
	}
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

static int list_addresses(struct node_handle *handle, struct newcomers *newcomers)
{
	struct address *all = NULL;
	size_t n = 0, kept = 0;
	int error = rtnl_addresses(handle->rtnl, &all, &n);

	if (error)
		return node_fail(handle, error, "cannot list the node's addresses");
	if (n)
		qsort(all, n, sizeof(*all), compare_addresses);
	for (size_t i = 0; i < n; i++)
		if (!i || compare_addresses(&all[i], &all[i - 1]))
			all[kept++] = all[i];
	newcomers->addresses = all;
	newcomers->n_addresses = kept;
	return 0;
}

bool newcomers_moved(const struct newcomers *before, const struct newcomers *now)
{
	return before->n_addresses != now->n_addresses ||
	       (now->n_addresses && memcmp(before->addresses, now->addresses,
					   now->n_addresses * sizeof(*now->addresses)));
}

int newcomers_read(struct node_handle *handle, struct newcomers *newcomers)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error;

	*newcomers = (struct newcomers){};
	maps_init_table(MAP_ifaces, &ifaces);
	error = maps_read(handle, MAP_ifaces, &ifaces);
	if (error)
		return node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
	error = find_interfaces(handle, &ifaces, newcomers);
	if (!error)
		error = find_tunnel(handle, newcomers);
	if (!error)
		error = list_addresses(handle, newcomers);
	return error ? error : find_uplink(handle, &ifaces, newcomers);
}

void newcomers_free(struct newcomers *newcomers)
{
	free(newcomers->ifaces);
	free(newcomers->addresses);
}
