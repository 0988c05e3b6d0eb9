/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node as a policy finds it: the node's name and addresses, its uplinks, the interface of each
 * local endpoint, and the other ports of their bridges.
 */
#ifndef BULKHEAD_NODE_LOCAL_ENTRIES_H
#define BULKHEAD_NODE_LOCAL_ENTRIES_H

#include "maps/iface.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct cluster;
struct endpoint;

struct local {
	char name[sizeof(((struct bh_blob *)NULL)->node)];
	struct address *addresses; /* the node's own, sorted; an address may stand twice */
	size_t n_addresses;
	/* by index of the policy's endpoints; 0: not on this node, or not found */
	uint32_t *ifindexes;
	/* Entries wanted in these maps, sorted by key. */
#define LOCAL_MAP(name, ...) struct table name;
#include "maps/maps.def"
	uint32_t endpoints, uplinks, ports; /* numbers of interfaces with that role in `ifaces` */
	struct link *links; /* all interfaces of the node */
	size_t n_links;
	/* By address of the added endpoints that stay (plan/active_endpoints.h), sorted: their
	 * entries of bh_endpoints, without places. */
	struct table kept;
};

/*
 * Chooses this node's name: the option's, else the pin folder's, else the policy's, else the
 * host's. An option or policy with another name than the pin folder's is refused without
 * `force`: all endpoints guarded now would count as another node's. So is, at a first load, a name
 * that no object of the policy has. Returns 0, -EINVAL or another -errno, reported.
 */
int local_choose_name(struct node_handle *handle, const struct policy *policy, struct local *local);

/*
 * Reads the rest, once the name is chosen and @local->kept has the addresses of @added, the added
 * endpoints that stay. An address that such an endpoint has is not another's, whatever @policy
 * says. An interface that an input or option names must exist (-ENODEV). An endpoint of this node
 * without a named interface, and with no route or only a default route to its address, has no
 * network now: it is left out with a warning. With `boot`, missing interfaces are left out too.
 * Returns 0 or -errno, reported.
 */
int local_read(struct node_handle *handle, const struct policy *policy, const struct cluster *added,
	       struct local *local);

/*
 * As local_read(), for one endpoint of the active node, at ifindexes[0]. An endpoint of another
 * node has no interface here. Reads the endpoint's own interface only, no uplinks or other ports.
 * @active (bh_ifaces) has the interfaces of other endpoints.
 */
int local_read_one(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct table *active, struct local *local);

/*
 * As local_read(), for endpoints and uplinks that are known: @ifaces (bh_ifaces) has their
 * entries as they will be, and may have other entries. Finds the node's interfaces beside these,
 * and the node's own MACs and link-local addresses on the way to these endpoints.
 */
int local_read_others(struct node_handle *handle, const struct table *ifaces, struct local *local);
void local_free(struct local *local);

/* Returns true if the address is the node's own. */
bool local_has_address(const struct local *local, const struct address *address);

/* Returns true if the endpoint of an interface is behind the same bridge, and the same other way to
 * it, as that of another interface. */
bool local_is_beside(const struct bh_iface *iface, const struct bh_iface *other);

/* Returns the wanted entries of a map of MAP_KIND_LOCAL. */
const struct table *local_table(const struct local *local, enum node_map_id map);

/* Warns of bridge ports that lead to another interface of this node. Such a port is not guarded,
 * since packets from it may be an endpoint's or the node's own. */
void local_warn(const struct node_handle *handle, const struct local *local);

#endif
