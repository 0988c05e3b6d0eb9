// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/tunnel.h"
#include "node/kernel/fou.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

/* Collects the addresses of the interfaces, and those of the Node object. */
int discover_addresses(struct discovery *discovery)
{
	struct local *local = discovery->local;
	const size_t n = discovery->n_node_addresses;
	int error = rtnl_addresses(discovery->handle->rtnl, &local->addresses, &local->n_addresses);

	if (!error)
		error = rtnl_link_locals(discovery->handle->rtnl, &discovery->link_locals,
					 &discovery->n_link_locals);
	if (!error && n) {
		void *grown = reallocarray(local->addresses, local->n_addresses + n,
					   sizeof(*local->addresses));

		if (!grown)
			return -ENOMEM;
		local->addresses = grown;
		memcpy(local->addresses + local->n_addresses, discovery->node_addresses,
		       n * sizeof(*local->addresses));
		local->n_addresses += n;
	}
	if (!error && local->n_addresses)
		qsort(local->addresses, local->n_addresses, sizeof(*local->addresses),
		      compare_addresses);
	return error;
}

/* Returns true if the address is in 169.254.0.0/16, where a node may have an address for its own
 * DNS. */
static bool is_link_local(const struct address *address)
{
	return address->bytes[12] == 169 && address->bytes[13] == 254;
}

/* Sets the addresses by which policy knows the node when the node uses a link-local address: of
 * each IP version the first address that the Node object names, else the first that the node
 * has. */
static bool node_mac_value(const struct discovery *discovery, struct bh_mac *value)
{
	const struct local *local = discovery->local;
	const struct address *ipv4 = NULL, *ipv6 = NULL;

	for (size_t i = local->n_addresses; i-- > 0;) {
		const struct address *address = &local->addresses[i];

		if (ipv4 && address_is_ipv4(address) && is_link_local(address))
			continue;
		*(address_is_ipv4(address) ? &ipv4 : &ipv6) = address;
	}
	for (size_t i = discovery->n_node_addresses; i-- > 0;) {
		const struct address *address = &discovery->node_addresses[i];

		*(address_is_ipv4(address) ? &ipv4 : &ipv6) = address;
	}
	if (!ipv4 && !ipv6)
		return false;
	value->ipv4 = bh_addr_from(ipv4 ? ipv4 : ipv6);
	value->ipv6 = bh_addr_from(ipv6 ? ipv6 : ipv4);
	return true;
}

/* Several interfaces may have one MAC. */
static int add_node_mac(struct discovery *discovery, const struct link *link)
{
	struct local *local = discovery->local;
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	struct bh_mac value = {};

	if (!link || !node_mac_value(discovery, &value))
		return 0;
	memcpy(key.mac, link->mac, sizeof(key.mac));
	if (!memcmp(key.mac, (uint8_t[6]){}, sizeof(key.mac)))
		return 0;
	for (size_t i = 0; i < local->macs.n; i++)
		if (!memcmp(table_key(&local->macs, i), &key, sizeof(key)))
			return 0;
	return table_add(&local->macs, &key, &value);
}

/* Adds the node's link-local addresses on an endpoint's link: the addresses of the endpoint's
 * bridge, of its interface, and of the interface by which the node reaches the endpoint. */
static int add_link_locals(struct discovery *discovery, const struct bh_iface *iface,
			   uint32_t ifindex)
{
	struct table *table = &discovery->local->link_locals;
	struct bh_link_local_key key = {.link = iface->bridge ? iface->bridge : ifindex};
	const struct bh_link_local value = {};
	int error = 0;

	for (size_t i = 0; !error && i < discovery->n_link_locals; i++) {
		const struct link_local *own = &discovery->link_locals[i];
		bool there = false;

		if (own->ifindex != ifindex && own->ifindex != iface->bridge &&
		    own->ifindex != iface->via)
			continue;
		key.addr = bh_addr_from(&own->address);
		for (size_t j = 0; !there && j < table->n; j++)
			there = !memcmp(table_key(table, j), &key, sizeof(key));
		error = there ? 0 : table_add(table, &key, &value);
	}
	return error;
}

int discover_node_side(struct discovery *discovery, const struct bh_iface *iface, uint32_t ifindex)
{
	int error = add_node_mac(discovery, discovery_link(discovery, ifindex));

	if (!error)
		error = add_node_mac(discovery, discovery_link(discovery, iface->via));
	return error ? error : add_link_locals(discovery, iface, ifindex);
}

/* Adds ports; a port may stand twice. */
static int add_tunnels(struct table *table, const uint32_t *ports, size_t n)
{
	const struct bh_tunnel value = {};
	int error = 0;

	for (size_t i = 0; !error && i < n; i++) {
		const struct bh_tunnel_key key = {.port = ports[i]};

		error = table_find(table, &key) ? 0 : table_insert(table, &key, &value);
	}
	return error;
}

int discover_nodes(const struct policy *policy, struct table *table)
{
	const struct bh_tunnel value = {};
	struct bh_tunnel_key key = {}, last = {};
	CLEANUP(table_free) struct table all = {};
	int error = 0;

	table_init(&all, table->key_size, table->value_size);
	for (size_t i = 0; !error && i < policy->n_node_addresses; i++) {
		key.addr = bh_addr_from(&policy->node_addresses[i]);
		error = table_add(&all, &key, &value);
	}
	table_sort(&all);
	for (size_t i = 0; !error && i < all.n; i++) {
		if (memcmp(&last, table_key(&all, i), sizeof(last)))
			error = table_add(table, table_key(&all, i), &value);
		memcpy(&last, table_key(&all, i), sizeof(last));
	}
	table_sort(table);
	return error;
}

int discover_tunnel_ports(struct node_handle *handle, struct table *table)
{
	SCOPED_FREE uint32_t *devices = NULL, *others = NULL;
	size_t n_devices = 0, n_others = 0;
	int error = rtnl_tunnel_ports(handle->rtnl, &devices, &n_devices);

	if (!error)
		error = fou_ports(&others, &n_others);
	if (!error)
		error = add_tunnels(table, devices, n_devices);
	if (!error)
		error = add_tunnels(table, others, n_others);
	return error ? node_fail(handle, error, "cannot list the tunnels") : 0;
}

int discover_tunnels(struct discovery *discovery)
{
	struct table *table = &discovery->local->tunnels;
	int error = discover_tunnel_ports(discovery->handle, table);

	if (error)
		return error;
	error = discover_nodes(discovery->policy, table);
	return error ? node_fail(discovery->handle, error, "cannot list the nodes") : 0;
}
