// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps/dns.h"
#include "maps/allow_source.h"
#include "maps/iface.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/tunnel.h"
#include "model/nearest.h"
#include "policy/lazy_policy.h"
#include "node/kernel/maps.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"
#include "node/local/iface_entry.h"
#include "node/local/local_entries.h"

static void discovery_end(struct discovery *discovery)
{
	free(discovery->link_locals);
	free(discovery->ways_out);
}

static int local_init(struct node_handle *handle, const struct policy *policy, struct local *local)
{
#define LOCAL_MAP(name, ...) maps_init_table(MAP_##name, &local->name);
#include "maps/maps.def"
	local->ifindexes = calloc(policy->n_endpoints + 1, sizeof(*local->ifindexes));
	return local->ifindexes ? 0 : node_fail(handle, -ENOMEM, "cannot look at this node");
}

static void sort_entries(struct local *local)
{
#define LOCAL_MAP(name, ...) table_sort(&local->name);
#include "maps/maps.def"
}

/* Returns the node's name from the options or the policy; NULL: neither has one. */
static const char *said_name(const struct node_handle *handle, const struct policy *policy)
{
	if (handle->options->name)
		return handle->options->name;
	return policy->node ? policy_string(policy, policy->node) : NULL;
}

/* Checks the name, if one is given, against the one that the pin folder has. */
static int check_name(const struct node_handle *handle, const char *name)
{
	const char *known = handle->policy ? handle->blob.node : NULL;

	if (name && !*name) {
		diag_error(handle->diag, NULL, NULL, "the node's name is empty: give it by -n");
		return -EINVAL;
	}
	if (name && strlen(name) >= sizeof(handle->blob.node)) {
		diag_error(handle->diag, NULL, NULL, "node name %s: too long", name);
		return -EINVAL;
	}
	if (!name || !known || handle->options->force || !strcmp(name, known))
		return 0;
	diag_error(handle->diag, NULL, NULL,
		   "node name: changed from %s to %s since the last load; --force accepts it",
		   known, name);
	return -EINVAL;
}

/* Refuses, at a first load, a name that no object of the policy has: nothing would be guarded. */
static int check_known(const struct node_handle *handle, const struct policy *policy,
		       const char *name)
{
	const struct node_options *options = handle->options;
	struct nearest nearest = {.word = name};
	char like[NEAREST_TEXT];

	if (handle->policy || options->force || options->quarantine ||
	    policy_knows_node(policy, name))
		return 0;
	for (size_t i = 0; i < policy->n_nodes; i++)
		nearest_try(&nearest, policy_string(policy, policy->nodes[i].name));
	for (size_t i = 0; i < policy->n_endpoints; i++)
		nearest_try(&nearest, policy_string(policy, policy->endpoints[i].node));
	if (policy_n_without_node(policy))
		diag_error(handle->diag, NULL, NULL,
			   "node \"%s\": no endpoint of the input is on it, and %zu name no node: "
			   "give each endpoint of this node `node = %s`, or --force",
			   name, policy_n_without_node(policy), name);
	else
		diag_error(handle->diag, NULL, NULL,
			   "node \"%s\": no object of the input is on a node of this name: give "
			   "the node's name by -n, or --force%s",
			   name, nearest_print(&nearest, like));
	return -EINVAL;
}

int local_choose_name(struct node_handle *handle, const struct policy *policy, struct local *local)
{
	const char *name = said_name(handle, policy);
	int error = check_name(handle, name);

	if (error)
		return error;
	if (!name && handle->policy)
		name = handle->blob.node;
	if (name)
		strcpy(local->name, name);
	else if (gethostname(local->name, sizeof(local->name) - 1))
		return node_fail(handle, -errno, "cannot read the host's name");
	return check_known(handle, policy, local->name);
}

static const struct policy no_policy;

/* Finds by which addresses the active policy knows this node. */
static int find_node(struct discovery *discovery)
{
	const struct lazy_policy *active = discovery->handle->policy;
	const struct policy_node *node = lazy_node_by_name(active, discovery->local->name);

	if (!node)
		return lazy_error(active);
	discovery->n_node_addresses = node->addresses.n;
	discovery->node_addresses =
		LAZY_SOME(active, node_addresses, node->addresses.at, node->addresses.n);
	return lazy_error(active);
}

int local_read_one(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct table *active, struct local *local)
{
	CLEANUP(discovery_end)
	struct discovery discovery = {
		.handle = handle,
		.policy = &no_policy,
		.local = local,
		.active = active,
		.audit = node_audits(handle),
	};
	int error = local_init(handle, &no_policy, local);

	if (error || (endpoint->node && strcmp(endpoint->node, handle->blob.node)))
		return error;
	strcpy(local->name, handle->blob.node);
	error = find_node(&discovery);
	if (error)
		return node_fail(handle, error, "cannot read the node %s", local->name);
	local->links = calloc(LINKS_OF_ONE, sizeof(*local->links));
	error = local->links ? discover_addresses(&discovery) : -ENOMEM;
	if (error)
		return node_fail(handle, error, "cannot list the node's addresses");
	error = discover_tunnels(&discovery);
	if (!error)
		error = discover_egress(&discovery);
	if (!error)
		error = discover_endpoint(&discovery, endpoint, &local->ifindexes[0]);
	sort_entries(local);
	return error;
}

/* Finds the interfaces beside the endpoints' and the uplinks, which are in discovery->local. */
static int read_others(struct discovery *discovery)
{
	struct local *local = discovery->local;
	int error = discover_quarantined(discovery);

	if (!error)
		error = discover_bridges(discovery);
	if (!error)
		error = discover_others(discovery);
	sort_entries(local);
	return error;
}

static int read_links(struct discovery *discovery)
{
	struct local *local = discovery->local;
	int error = rtnl_links(discovery->handle->rtnl, &local->links, &local->n_links);

	if (error)
		return node_fail(discovery->handle, error, "cannot list the interfaces");
	error = discover_addresses(discovery);
	return error ? node_fail(discovery->handle, error, "cannot list the node's addresses") : 0;
}

int local_read_others(struct node_handle *handle, const struct table *ifaces, struct local *local)
{
	CLEANUP(discovery_end)
	struct discovery discovery = {.handle = handle,
				      .policy = &no_policy,
				      .local = local,
				      .audit = node_audits(handle)};
	int error = local_init(handle, &no_policy, local);

	if (!error)
		error = read_links(&discovery);
	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		struct bh_iface iface = *(struct bh_iface *)table_value(ifaces, i);

		if (!(iface.flags & (BH_IFACE_ENDPOINT | BH_IFACE_UPLINK)) ||
		    iface_entry_is_quarantined(&iface))
			continue;
		iface.flags &= ~BH_IFACE_VIA;
		error = table_add(&local->ifaces, ifindex, &iface);
		if (!error && iface.flags & BH_IFACE_ENDPOINT)
			error = discover_node_side(&discovery, &iface, *ifindex);
	}
	return error ? error : read_others(&discovery);
}

int local_read(struct node_handle *handle, const struct policy *policy, const struct cluster *added,
	       struct local *local)
{
	CLEANUP(discovery_end)
	struct discovery discovery = {.handle = handle,
				      .policy = policy,
				      .added = added,
				      .local = local,
				      .audit = handle->options->audit};
	const struct policy_node *node = policy_node_by_name(policy, local->name);
	int error = local_init(handle, policy, local);

	if (error)
		return error;
	if (node) {
		discovery.node_addresses = &policy->node_addresses[node->addresses.at];
		discovery.n_node_addresses = node->addresses.n;
	}
	error = read_links(&discovery);
	if (!error)
		error = discover_tunnels(&discovery);
	if (!error)
		error = discover_resolvers(&discovery);
	if (!error)
		error = discover_egress(&discovery);
	if (!error)
		error = discover_uplinks(&discovery);
	if (!error)
		error = discover_endpoints(&discovery);
	return error ? error : read_others(&discovery);
}

void local_free(struct local *local)
{
	free(local->addresses);
	free(local->ifindexes);
	free(local->links);
#define LOCAL_MAP(name, ...) table_free(&local->name);
#include "maps/maps.def"
	table_free(&local->kept);
}

bool local_has_address(const struct local *local, const struct address *address)
{
	for (size_t i = 0; i < local->n_addresses; i++)
		if (!memcmp(&local->addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

bool local_is_beside(const struct bh_iface *iface, const struct bh_iface *other)
{
	return iface->bridge == other->bridge && iface->via == other->via;
}

const struct table *local_table(const struct local *local, enum node_map_id map)
{
	static const size_t at[N_NODE_MAPS] = {
#define LOCAL_MAP(name, ...) [MAP_##name] = offsetof(struct local, name),
#include "maps/maps.def"
	};

	return (const struct table *)((const char *)local + at[map]);
}
