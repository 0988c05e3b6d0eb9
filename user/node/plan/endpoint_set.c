// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "node/local/local_pod.h"
#include "node/plan/added_record.h"
#include "node/plan/endpoint_add.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/endpoint_find.h"
#include "node/plan/endpoint_set.h"
#include "node/plan/own_interfaces.h"
#include "node/plan/slot.h"

/* An active endpoint, with its new labels or ports. */
struct resetting {
	struct cluster cluster; /* holds the endpoint */
	struct endpoint *endpoint; /* with its new properties */
	struct local_pod pod; /* what the policy says of it, where it comes from a policy */
	struct address *addresses; /* its active addresses then */
	struct table members;
	bool recorded; /* `endpoint add` or `endpoint set` was called for it before */
};

static void resetting_end(struct resetting *resetting)
{
	cluster_free(&resetting->cluster);
	free(resetting->addresses);
	local_pod_free(&resetting->pod);
	table_free(&resetting->members);
}

/* Takes the policy's records of the endpoint. */
static int from_policy(const struct node_handle *handle, const struct node_endpoint_set *set,
		       struct resetting *resetting)
{
	const struct lazy_policy *policy = handle->policy;
	struct endpoint *endpoint = resetting->endpoint;
	const struct policy_endpoint *known = lazy_endpoint_by_name(policy, set->ns, set->name);
	int error;

	if (!known)
		return lazy_error(policy) ? lazy_error(policy) : -ENOENT;
	error = local_pod_read(policy, known, &resetting->pod);
	resetting->addresses = calloc(resetting->members.n, sizeof(*resetting->addresses));
	if (error || !resetting->addresses)
		return error ? error : -ENOMEM;
	*endpoint = resetting->pod.endpoint;
	/* The policy's strings go when an extension has all of it read. */
	endpoint->ns_name = set->ns;
	endpoint->name = set->name;
	endpoint->interface = NULL;
	endpoint->audit = known->flags & POLICY_AUDIT;
	endpoint->addresses = resetting->addresses;
	endpoint->n_addresses = resetting->members.n;
	for (size_t i = 0; i < resetting->members.n; i++)
		memcpy(&endpoint->addresses[i], table_key(&resetting->members, i),
		       sizeof(*endpoint->addresses));
	return 0;
}

/* Reads the endpoint's record. An endpoint of the policy has no record, and its labels are
 * unknown. */
static int read_resetting(struct node_handle *handle, const struct node_endpoint_set *set,
			  struct resetting *resetting)
{
	struct bh_added record;
	int error;

	resetting->recorded =
		!maps_lookup(handle, MAP_added, table_key(&resetting->members, 0), &record);
	if (resetting->recorded) {
		error = record_read(&record, &resetting->cluster, &resetting->endpoint);
		return error ? node_fail(handle, error, "cannot read %s/added", handle->pin) : 0;
	}
	if (!set->labels) {
		diag_error(handle->diag, NULL, NULL,
			   "endpoint %s/%s: a policy brought it, so its labels have to be given",
			   set->ns, set->name);
		return -EINVAL;
	}
	resetting->endpoint = cluster_add_endpoint(&resetting->cluster);
	error = from_policy(handle, set, resetting);
	return error ? node_fail(handle, error, "cannot change %s/%s", set->ns, set->name) : 0;
}

static int plan_resetting(struct node_handle *handle, const struct node_endpoint_set *set,
			  struct resetting *resetting)
{
	const struct bh_added name = record_name(set->ns, set->name);
	int error = endpoint_find(handle, &name, &resetting->members);

	if (error)
		return node_fail(handle, error, "cannot look for %s/%s", set->ns, set->name);
	if (!resetting->members.n) {
		diag_error(handle->diag, NULL, NULL, "endpoint %s/%s is not active here", set->ns,
			   set->name);
		return -EINVAL;
	}
	error = read_resetting(handle, set, resetting);
	if (!error && set->labels) {
		resetting->endpoint->labels = *set->labels;
		resetting->endpoint->unknown = resetting->endpoint->rests = false;
	}
	if (!error && set->ports) {
		resetting->endpoint->ports = (struct named_port *)set->ports;
		resetting->endpoint->n_ports = set->n_ports;
	}
	return error;
}

/* Returns true if the endpoint is active where it belongs by the active policy. */
static bool is_placed(const struct node_handle *handle, const struct resetting *resetting,
		      const struct change *change)
{
	for (size_t i = 0; i < resetting->members.n; i++) {
		const struct bh_endpoint *entry = table_value(&resetting->members, i);
		const uint64_t has = bh_assignment_at(entry->assignment[0], entry->assignment[1],
						      node_generation(handle));
		struct address address;
		bool nowhere = false;
		uint64_t place;

		memcpy(&address, table_key(&resetting->members, i), sizeof(address));
		if (slot_place(handle, change, resetting->endpoint, &address, &place, &nowhere) ||
		    nowhere || (uint32_t)place != (uint32_t)has)
			return false;
	}
	return true;
}

/* Changes the addresses by which the interface's endpoint may send. */
static int change_interface(const struct endpoint_placing *placing, uint32_t ifindex)
{
	CLEANUP(own_interfaces_free) struct own_interfaces own;
	int error;

	own_interfaces_init(&own, placing->handle, placing->change);
	own.alone = true;
	error = own_interfaces_readdress(&own, ifindex, placing->endpoint);
	return error ? error : own_interfaces_finish(&own);
}

static bool is_among(const struct endpoint *endpoint, const void *address)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		if (!memcmp(&endpoint->addresses[i], address, sizeof(*endpoint->addresses)))
			return true;
	return false;
}

/* Moves the active addresses that stay into the endpoint's segment, and removes the others with
 * their connections. Without @readdresses all stay. */
static int plan_members(const struct endpoint_placing *placing, const struct table *members,
			bool readdresses)
{
	int error = 0;

	for (size_t i = 0; !error && i < members->n; i++) {
		const void *addr = table_key(members, i);
		const struct bh_endpoint *entry = table_value(members, i);

		error = !readdresses || is_among(placing->endpoint, addr)
				? endpoint_add_address(placing, addr, entry, entry)
				: endpoint_del_address(placing->handle, addr, entry,
						       placing->change);
	}
	return error;
}

/* Adds the addresses that the endpoint lacks. The interface stays guarded. Packets from a new
 * address pass its source check after the commit. */
static int plan_new_addresses(const struct endpoint_placing *placing, const struct table *members)
{
	const struct bh_endpoint *entry = table_value(members, 0);
	const struct endpoint *endpoint = placing->endpoint;
	struct bh_endpoint host_side = {.ifindex = entry->ifindex};
	int error = 0;

	memcpy(host_side.mac, endpoint->mac, sizeof(host_side.mac));
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++) {
		const struct address *address = &endpoint->addresses[i];

		if (table_find(members, address))
			continue;
		error = endpoint_check_address(placing->handle, endpoint, address);
		if (!error)
			error = endpoint_add_address(placing, address, NULL, &host_side);
	}
	return error ? error : change_interface(placing, entry->ifindex);
}

/* Extends the policy, or gives up the extension that only the endpoint's former labels and ports
 * needed. */
static int plan_extension(struct node_handle *handle, const struct resetting *resetting,
			  struct change *change, struct extension *extension)
{
	CLEANUP(table_free) struct table before = {};
	struct bh_added record;
	int error = 0;

	maps_init_table(MAP_added, &before);
	for (size_t i = 0; !error && i < resetting->members.n; i++) {
		const void *addr = table_key(&resetting->members, i);

		if (!maps_lookup(handle, MAP_added, addr, &record))
			error = table_add(&before, addr, &record);
	}
	return error ? node_fail(handle, error, "cannot read %s/added", handle->pin)
		     : extension_set(handle, resetting->endpoint, &before, change, extension);
}

int endpoint_set_plan(struct node_handle *handle, const struct node_endpoint_set *set,
		      struct change *change, struct extension *extension, bool *isolated)
{
	CLEANUP(resetting_end) struct resetting resetting = {};
	struct endpoint_placing placing = {
		.handle = handle, .change = change, .isolated = isolated};
	int error;

	cluster_init(&resetting.cluster);
	error = plan_resetting(handle, set, &resetting);
	if (error ||
	    (set->if_elsewhere && !resetting.recorded && is_placed(handle, &resetting, change)))
		return error;
	if (set->addresses) {
		resetting.endpoint->addresses = (struct address *)set->addresses;
		resetting.endpoint->n_addresses = set->n_addresses;
	}
	error = plan_extension(handle, &resetting, change, extension);
	if (error)
		return error;
	placing.endpoint = resetting.endpoint;
	change->commits = true;
	if (set->addresses)
		error = plan_new_addresses(&placing, &resetting.members);
	return error ? error : plan_members(&placing, &resetting.members, set->addresses);
}
