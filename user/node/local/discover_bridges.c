// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "maps/iface.h"
#include "node/kernel/maps.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"
#include "node/local/iface_entry.h"

static bool has_endpoint(const struct local *local, uint32_t bridge)
{
	for (size_t i = 0; bridge && i < local->ifaces.n; i++) {
		const struct bh_iface *iface = table_value(&local->ifaces, i);

		if (iface->flags & BH_IFACE_ENDPOINT && iface->bridge == bridge)
			return true;
	}
	return false;
}

/* Returns true if packets that come in by the port were at another interface of this node before,
 * or were made by this node. */
static bool leads_inside(const struct discovery *discovery, const struct link *port)
{
	const struct link *lower = discovery_link(discovery, port->lower);

	return !port->elsewhere && lower && (port->veth || (port->vlan && lower->bridge));
}

int discover_bridges(struct discovery *discovery)
{
	struct local *local = discovery->local;
	struct bh_iface iface = {.flags = BH_IFACE_PORT};
	int error = 0;

	if (discovery->audit)
		iface.flags |= BH_IFACE_AUDIT;
	for (size_t i = 0; !error && i < local->n_links; i++) {
		const struct link *port = &local->links[i];

		iface.bridge = discover_bridge(discovery, port);
		if (!has_endpoint(local, iface.bridge) || discovery_iface(local, port->ifindex) ||
		    leads_inside(discovery, port))
			continue;
		local->ports++;
		error = table_add(&local->ifaces, &port->ifindex, &iface);
	}
	return error;
}

static bool is_master(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->n_links; i++)
		if (local->links[i].master == ifindex)
			return true;
	return false;
}

/* Returns true if the node may receive an endpoint's packets by the interface: the interface is a
 * bridge or the like, even one without an endpoint yet, or it leads back to another interface of
 * this node. */
static bool reaches_endpoints(const struct discovery *discovery, const struct link *link,
			      uint32_t flags)
{
	const struct table *ifaces = &discovery->local->ifaces;

	if (link->bridge || leads_inside(discovery, link) ||
	    (!(flags & BH_IFACE_UPLINK) && is_master(discovery->local, link->ifindex)))
		return true;
	for (size_t i = 0; i < ifaces->n; i++)
		if (((struct bh_iface *)table_value(ifaces, i))->via == link->ifindex)
			return true;
	return false;
}

/* Returns true if the active entry of an interface stays an endpoint's. @there: the interface's
 * entry as planned so far; NULL: none. */
static bool stays_guarded(const struct node_handle *handle, const struct bh_iface *active,
			  const struct bh_iface *there)
{
	const bool quarantines =
		handle->options->quarantine && !handle->options->force && node_generation(handle);

	return active->flags & BH_IFACE_ENDPOINT &&
	       (quarantines || (!there && iface_entry_is_quarantined(active)));
}

/* Keeps a quarantined interface until it goes, and with `quarantine` any other one that would lose
 * its endpoint. Such an interface counts as an endpoint's, so that the other ports of its bridge
 * stay guarded, too. */
int discover_quarantined(struct discovery *discovery)
{
	struct local *local = discovery->local;
	int error = 0;

	for (size_t i = 0; !error && i < local->n_links; i++) {
		const uint32_t ifindex = local->links[i].ifindex;
		struct bh_iface *there = discovery_iface(local, ifindex), iface;

		if ((there && there->flags & BH_IFACE_ENDPOINT) ||
		    maps_lookup(discovery->handle, MAP_ifaces, &ifindex, &iface) ||
		    !stays_guarded(discovery->handle, &iface, there))
			continue;
		iface = iface_entry_quarantine(&iface);
		if (there)
			*there = iface;
		else
			error = table_add(&local->ifaces, &ifindex, &iface);
	}
	return error;
}

/* Adds all other interfaces that are up: packets may leave the node by them. */
int discover_others(struct discovery *discovery)
{
	struct local *local = discovery->local;
	struct bh_iface iface = {.flags = BH_IFACE_OTHER};
	int error = 0;

	for (size_t i = 0; !error && i < local->n_links; i++) {
		const struct link *link = &local->links[i];

		iface.flags = BH_IFACE_OTHER | (link->bare ? BH_IFACE_BARE : 0);
		if (link->up && !link->loopback && !discovery_iface(local, link->ifindex))
			error = table_add(&local->ifaces, &link->ifindex, &iface);
	}
	for (size_t i = 0; i < local->n_links; i++) {
		struct bh_iface *there = discovery_iface(local, local->links[i].ifindex);

		if (there && !(there->flags & BH_IFACE_ENDPOINT) &&
		    reaches_endpoints(discovery, &local->links[i], there->flags))
			there->flags |= BH_IFACE_VIA;
	}
	return error;
}

static void warn_of_ports(const struct node_handle *handle, const struct local *local,
			  const struct link *bridge)
{
	const struct link *first = NULL;
	char more[40] = "";
	size_t n = 0;

	for (size_t i = 0; i < local->n_links; i++) {
		const struct link *port = &local->links[i];
		const struct bh_iface *iface = discovery_iface(local, port->ifindex);

		if (port->master != bridge->ifindex || (iface && !(iface->flags & BH_IFACE_OTHER)))
			continue;
		first = first ? first : port;
		n++;
	}
	if (n > 1)
		snprintf(more, sizeof(more), " (and %zu more)", n - 1);
	if (n)
		diag_warn(handle->diag, NULL, NULL,
			  "bridge %s: its port %s%s leads to another interface of this node and is "
			  "not guarded: packets that it sends through the bridge's own address can "
			  "claim to be an endpoint's",
			  bridge->name, first->name, more);
}

void local_warn(const struct node_handle *handle, const struct local *local)
{
	for (size_t i = 0; i < local->n_links; i++) {
		const struct link *link = &local->links[i];

		if (link->bridge && has_endpoint(local, link->ifindex))
			warn_of_ports(handle, local, link);
	}
}
