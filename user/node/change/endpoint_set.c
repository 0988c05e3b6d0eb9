// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "node/change/assignment.h"
#include "node/change/endpoint_find.h"
#include "node/change/endpoint_set.h"
#include "node/change/readdress.h"
#include "node/change/added_record.h"
#include "node/change/service_entries.h"
#include "node/change/slot.h"

/* An active endpoint, with its new labels or ports. */
struct resetting {
	struct cluster cluster; /* holds the endpoint */
	struct endpoint *endpoint; /* with its new properties */
	struct address *addresses; /* addresses, where the endpoint comes from a policy */
	struct cidr *allow_source;
	struct table members;
	bool recorded; /* `endpoint add` or `endpoint set` was called for it before */
};

static void resetting_end(struct resetting *resetting)
{
	cluster_free(&resetting->cluster);
	free(resetting->addresses);
	free(resetting->allow_source);
	table_free(&resetting->members);
}

/* Takes the policy's records of the endpoint. */
static int from_policy(const struct node_handle *handle, struct resetting *resetting)
{
	const struct lazy_policy *policy = handle->policy;
	struct endpoint *endpoint = resetting->endpoint;
	const struct policy_endpoint *known =
		lazy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);
	const struct policy_cidr *sources;

	if (!known)
		return lazy_error(policy) ? lazy_error(policy) : -ENOENT;
	resetting->addresses = calloc(resetting->members.n, sizeof(*resetting->addresses));
	resetting->allow_source = calloc(known->allow_source.n + 1, sizeof(struct cidr));
	if (!resetting->addresses || !resetting->allow_source)
		return -ENOMEM;
	endpoint->addresses = resetting->addresses;
	for (size_t i = 0; i < resetting->members.n; i++)
		memcpy(&endpoint->addresses[endpoint->n_addresses++],
		       table_key(&resetting->members, i), sizeof(*endpoint->addresses));
	sources = lazy_read(policy, policy->cidrs + known->allow_source.at,
			    known->allow_source.n * sizeof(*sources));
	endpoint->allow_source = resetting->allow_source;
	for (uint32_t i = 0; i < known->allow_source.n; i++)
		endpoint->allow_source[endpoint->n_allow_source++] =
			(struct cidr){sources[i].address, sources[i].length};
	endpoint->has_mac = known->flags & POLICY_MAC;
	memcpy(endpoint->mac, known->mac, sizeof(endpoint->mac));
	endpoint->l2 = known->flags & POLICY_L2;
	endpoint->audit = known->flags & POLICY_AUDIT;
	return 0;
}

/* Reads the endpoint's record. An endpoint of the policy has no record, and its labels are
 * unknown. */
static int read_resetting(struct node_handle *handle, const struct node_endpoint_set *set,
			  struct resetting *resetting)
{
	struct bh_added record;
	struct endpoint *endpoint;
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
	endpoint = resetting->endpoint = cluster_add_endpoint(&resetting->cluster);
	endpoint->ns_name = set->ns;
	endpoint->name = set->name;
	error = from_policy(handle, resetting);
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

static int plan_moves(struct node_handle *handle, const struct resetting *resetting,
		      struct change *change, bool *isolated)
{
	const struct table *members = &resetting->members;
	int error = 0;

	for (size_t i = 0; !error && i < members->n; i++)
		error = readdress_keep(handle, resetting->endpoint, table_key(members, i),
				       table_value(members, i), change, isolated);
	change->commits = true;
	return error;
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
	if (!set->addresses)
		return plan_moves(handle, &resetting, change, isolated);
	return readdress_plan(handle, resetting.endpoint, &resetting.members, change, isolated);
}
