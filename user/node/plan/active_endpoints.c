// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/expected.h"
#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "maps/segment.h"
#include "node/kernel/maps.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/extension.h"

/* Added endpoints, in the form that overlay_endpoints() takes. */
struct arrivals {
	struct cluster cluster;
	struct update_endpoint *came;
	size_t n;
	struct policy_address *addresses;
	size_t n_addresses;
};

static void arrivals_free(struct arrivals *arrivals)
{
	free(arrivals->came);
	free(arrivals->addresses);
	cluster_free(&arrivals->cluster);
}

static int fail_listing(struct node_handle *handle)
{
	return node_fail(handle, -ENOMEM, "cannot list the endpoints of %s", handle->pin);
}

static int arrivals_read(struct node_handle *handle, struct arrivals *arrivals)
{
	size_t n = 1;
	int error;

	cluster_init(&arrivals->cluster);
	error = record_read_all(handle, NULL, &arrivals->cluster);
	if (error)
		return error;
	for (size_t i = 0; i < arrivals->cluster.n_endpoints; i++)
		n += arrivals->cluster.endpoints[i].n_addresses;
	arrivals->came = calloc(n, sizeof(*arrivals->came));
	arrivals->addresses = calloc(n, sizeof(*arrivals->addresses));
	return arrivals->came && arrivals->addresses ? 0 : fail_listing(handle);
}

/* The active maps, for a reader without the lock. */
struct active_lookup {
	struct node_handle *handle;
	struct table endpoints, added, segments;
};

static void look_end(struct active_lookup *look)
{
	table_free(&look->endpoints);
	table_free(&look->added);
	table_free(&look->segments);
}

static int look_read(struct active_lookup *look)
{
	struct node_handle *handle = look->handle;
	int error;

	table_init(&look->endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(&look->added, sizeof(struct bh_addr), sizeof(struct bh_added));
	table_init(&look->segments, sizeof(uint32_t), sizeof(struct bh_segment));
	error = maps_read(handle, MAP_endpoints, &look->endpoints);
	if (!error)
		error = maps_read(handle, MAP_added, &look->added);
	if (!error)
		error = maps_read(handle, MAP_segments, &look->segments);
	return error ? node_fail(handle, error, "cannot read the endpoints of %s", handle->pin) : 0;
}

/* Returns the active word of an endpoint's address; 0: the address is not active. */
static uint64_t word_of(const struct active_lookup *look, const struct address *address)
{
	const struct bh_endpoint *entry = table_find(&look->endpoints, address);
	uint64_t word = 0;

	if (entry)
		word = bh_assignment_at(entry->assignment[0], entry->assignment[1],
					node_generation(look->handle));
	return bh_assignment_is_cover(word) ? 0 : word;
}

/* Returns true if an address of the policy was taken off, or is one of the arrivals'. Without
 * arrivals the policy keeps an address that was added: a sandbox whose labels nobody has told has
 * the place that the policy gives the pod. */
static bool is_gone(const struct active_lookup *look, const struct arrivals *arrivals,
		    const struct address *address)
{
	return (arrivals->n && table_find(&look->added, address)) || !word_of(look, address);
}

static uint32_t segment_of(const struct active_lookup *look, uint64_t word)
{
	const struct policy *policy = pinned_whole(look->handle);
	const uint32_t slot = bh_assignment_slot(word);
	const struct policy_segment *found = NULL;

	if (slot && slot < look->segments.n)
		found = policy_segment_by_id(
			policy, ((struct bh_segment *)table_value(&look->segments, slot))->id ^
					look->handle->blob.ids);
	return found ? found - policy->segments : POLICY_NOWHERE;
}

static void add_active(const struct active_lookup *look, struct arrivals *arrivals,
		       const struct endpoint *endpoint)
{
	struct policy_address *first = arrivals->addresses + arrivals->n_addresses;
	size_t n = 0;

	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		uint64_t word = word_of(look, &endpoint->addresses[i]);

		if (word)
			first[n++] = (struct policy_address){
				.address = endpoint->addresses[i],
				.segment = segment_of(look, word),
				.variation = bh_assignment_variation(word),
			};
	}
	arrivals->n_addresses += n;
	if (n)
		arrivals->came[arrivals->n++] = (struct update_endpoint){endpoint, first, n};
}

/* Returns true if the policy's endpoint of that name keeps an address. */
static bool keeps_address(const struct policy *policy, const bool *deleted,
			  const struct endpoint *endpoint)
{
	const struct policy_endpoint *known =
		policy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);

	for (uint32_t i = 0; known && i < known->addresses.n; i++)
		if (!deleted[policy->endpoint_addresses[known->addresses.at + i]])
			return true;
	return false;
}

/* Renames a pod's sandbox to POD:CONTAINER:IFNAME, as the CNI plugin names the second of two
 * sandboxes, where the policy has the pod at another address. */
static void rename_duplicates(const struct policy *policy, const bool *deleted,
			      struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		struct endpoint *endpoint = &cluster->endpoints[i];
		const char *ifname =
			endpoint->attachment ? strchr(endpoint->attachment, ':') : NULL;
		char name[256];

		if (!ifname || !keeps_address(policy, deleted, endpoint))
			continue;
		snprintf(name, sizeof(name), "%.200s:%.*s%s", endpoint->name,
			 (int)(ifname - endpoint->attachment < 12 ? ifname - endpoint->attachment
								  : 12),
			 endpoint->attachment, ifname);
		endpoint->name = cluster_intern(cluster, name, strlen(name));
	}
}

/* Overlays the active policy with what has arrived, without the addresses that were taken off. */
static int overlay_active(const struct active_lookup *look, struct arrivals *arrivals,
			  bool *differs)
{
	struct node_handle *handle = look->handle;
	struct policy *policy = pinned_whole(handle);
	SCOPED_FREE bool *deleted = calloc(policy->n_addresses + 1, sizeof(*deleted));

	if (!deleted)
		return fail_listing(handle);
	*differs = arrivals->n;
	for (size_t i = 0; i < policy->n_addresses; i++) {
		deleted[i] = is_gone(look, arrivals, &policy->addresses[i].address);
		*differs |= deleted[i];
	}
	if (!*differs)
		return 0;
	rename_duplicates(policy, deleted, &arrivals->cluster);
	return overlay_endpoints(policy, deleted, arrivals->came, arrivals->n)
		       ? fail_listing(handle)
		       : 0;
}

/* Changes handle->policy, read in full, to have the active endpoints. */
static int read_active(struct node_handle *handle)
{
	CLEANUP(look_end) struct active_lookup look = {.handle = handle};
	CLEANUP(arrivals_free) struct arrivals arrivals = {};
	int error = arrivals_read(handle, &arrivals);
	bool differs;

	if (!error)
		error = look_read(&look);
	if (error)
		return error;
	for (size_t i = 0; i < arrivals.cluster.n_endpoints; i++) {
		struct endpoint *endpoint = &arrivals.cluster.endpoints[i];

		if (!endpoint->node)
			endpoint->node = handle->blob.node;
		add_active(&look, &arrivals, endpoint);
	}
	return overlay_active(&look, &arrivals, &differs);
}

int node_look(const struct node_options *options, struct diag *diag, struct node_handle **handle)
{
	int error = node_new(options, diag, handle);

	if (!error)
		error = node_find_config(*handle);
	if (!error && (*handle)->config)
		(*handle)->looked = (*handle)->config->changes;
	if (!error)
		error = node_find(*handle);
	if (!error)
		error = pinned_read(*handle);
	return error || !(*handle)->policy ? error : read_active(*handle);
}

int node_policy_active(const char *pin, struct diag *diag, struct policy **policy)
{
	const struct node_options options = {.pin = pin};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int error = node_look(&options, diag, &handle);

	if (error)
		return error;
	*policy = pinned_take(handle);
	return 0;
}

/* Returns true if an added endpoint is still active: an endpoint of this node goes with its
 * interface. *ifindex 0: the endpoint is on another node. */
static bool is_still_active(const struct node_handle *handle, const struct endpoint *endpoint,
			    char name[IF_NAMESIZE], uint32_t *ifindex)
{
	struct bh_endpoint entry;

	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		if (maps_lookup(handle, MAP_endpoints, &endpoint->addresses[i], &entry))
			continue;
		*ifindex = entry.ifindex;
		if (!entry.ifindex || if_indextoname(entry.ifindex, name))
			return true;
	}
	return false;
}

bool active_added(const struct node_handle *handle, const struct lazy_policy *policy,
		  const char *node, struct cluster *cluster, struct endpoint *endpoint,
		  uint32_t *ifindex)
{
	char interface[IF_NAMESIZE];

	if (!is_still_active(handle, endpoint, interface, ifindex))
		return false;
	if (*ifindex) {
		endpoint->node = node;
		endpoint->interface = cluster_intern(cluster, interface, strlen(interface));
	}
	expected_find(policy, cluster, endpoint);
	endpoint->audit = record_is_audited(policy, endpoint);
	return true;
}

/* Keeps the endpoints whose interfaces exist, and lists their addresses. */
static int keep_present(struct node_handle *handle, const struct policy *policy,
			struct local *local, struct cluster *staying)
{
	const struct bh_endpoint nothing = {};
	size_t n = 0;
	int error = 0;

	for (size_t i = 0; !error && i < staying->n_endpoints; i++) {
		struct endpoint *endpoint = &staying->endpoints[i];
		uint32_t ifindex;

		if (!active_added(handle, policy_lazy(policy), local->name, staying, endpoint,
				  &ifindex)) {
			diag_note(handle->diag, NULL, NULL,
				  "endpoint %s/%s is off: its interface is gone", endpoint->ns_name,
				  endpoint->name);
			continue;
		}
		for (size_t j = 0; !error && j < endpoint->n_addresses; j++)
			error = table_add(&local->kept, &endpoint->addresses[j], &nothing);
		staying->endpoints[n++] = *endpoint;
	}
	staying->n_endpoints = n;
	table_sort(&local->kept);
	return error ? fail_listing(handle) : 0;
}

int active_expect(struct node_handle *handle, struct local *local, struct cluster *staying,
		  bool *differs)
{
	CLEANUP(look_end) struct active_lookup look = {.handle = handle};
	struct arrivals none = {};
	int error = record_read_all(handle, NULL, staying);

	if (!error)
		error = look_read(&look);
	if (!error)
		error = keep_present(handle, pinned_whole(handle), local, staying);
	if (!error)
		error = overlay_active(&look, &none, differs);
	*differs |= staying->n_endpoints > 0;
	return error;
}

int active_keep(struct node_handle *handle, struct policy *policy, struct local *local,
		struct cluster *staying, struct policy **extended, struct delta **delta)
{
	int error = record_read_all(handle, policy, staying);

	if (!error)
		error = keep_present(handle, policy, local, staying);
	if (!error && extended)
		error = extension_load(handle, policy, staying, extended, delta);
	if (!error && extended && *extended)
		*policy = **extended;
	return error;
}

bool active_owner(const struct node_handle *handle, const struct address *address,
		  struct bh_added *owner)
{
	const struct lazy_policy *policy = handle->policy;
	const struct policy_address *known;

	if (!maps_lookup(handle, MAP_added, address, owner))
		return true;
	known = lazy_address_find(policy, address);
	if (known)
		*owner = record_name_of(policy, LAZY_ONE(policy, endpoints, known->endpoint));
	return known;
}

bool active_owner_at(const struct node_handle *handle, uint32_t ifindex, const struct bh_addr *addr,
		     struct bh_added *owner)
{
	struct bh_endpoint entry;
	struct address address;

	memcpy(&address, addr, sizeof(address));
	return !maps_lookup(handle, MAP_endpoints, &address, &entry) && entry.ifindex == ifindex &&
	       active_owner(handle, &address, owner);
}
