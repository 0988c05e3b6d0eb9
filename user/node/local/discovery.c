// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "maps/endpoint.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"

static const struct link *ask_for_link(const struct discovery *discovery, const char *name,
				       uint32_t ifindex)
{
	struct local *local = discovery->local;

	if (!discovery->active || local->n_links == LINKS_OF_ONE ||
	    rtnl_link(discovery->handle->rtnl, name, ifindex, &local->links[local->n_links]))
		return NULL;
	return &local->links[local->n_links++];
}

const struct link *discovery_link_by_name(const struct discovery *discovery, const char *name)
{
	const struct local *local = discovery->local;

	for (size_t i = 0; i < local->n_links; i++)
		if (!strcmp(local->links[i].name, name))
			return &local->links[i];
	return ask_for_link(discovery, name, 0);
}

const struct link *local_link(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->n_links; i++)
		if (local->links[i].ifindex == ifindex)
			return &local->links[i];
	return NULL;
}

const struct link *discovery_link(const struct discovery *discovery, uint32_t ifindex)
{
	const struct link *link = local_link(discovery->local, ifindex);

	return link || !ifindex ? link : ask_for_link(discovery, NULL, ifindex);
}

struct bh_iface *discovery_iface(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->ifaces.n; i++)
		if (*(uint32_t *)table_key(&local->ifaces, i) == ifindex)
			return table_value(&local->ifaces, i);
	return NULL;
}

const struct bh_iface *discovery_owner(const struct discovery *discovery, uint32_t ifindex)
{
	const struct bh_iface *iface = discovery_iface(discovery->local, ifindex);

	return iface || !discovery->active ? iface : table_find(discovery->active, &ifindex);
}

struct bh_endpoint discovery_host_side(const struct local *local, uint32_t ifindex,
				       const uint8_t *mac)
{
	const struct bh_iface *iface = ifindex ? discovery_iface(local, ifindex) : NULL;
	struct bh_endpoint side = {.ifindex = ifindex};

	if (iface && iface->flags & BH_IFACE_MAC)
		mac = iface->mac;
	if (mac)
		memcpy(side.mac, mac, sizeof(side.mac));
	return side;
}

uint32_t discover_bridge(const struct discovery *discovery, const struct link *link)
{
	const struct link *master = link ? discovery_link(discovery, link->master) : NULL;

	return master && master->bridge ? master->ifindex : 0;
}
