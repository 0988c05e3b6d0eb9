// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/extension.h"

#include <errno.h>
#include <string.h>

#include "compile/extend.h"
#include "policy/expected.h"
#include "policy/lazy_policy.h"
#include "policy/place.h"
#include "maps/added.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/added_record.h"
#include "node/plan/capacity.h"
#include "node/plan/planner_parts.h"

void extension_close(struct extension *extension)
{
	if (!extension->handle)
		return;
	extension->handle->policy = &extension->before->lazy;
	policy_free(extension->extended);
	extension->handle = NULL;
}

/* Returns true if one of the endpoint's addresses fits no segment. Any error but -ENOENT counts as
 * a fit: the planner meets the error again and reports it. */
static bool fits_none(const struct lazy_policy *policy, const struct endpoint *endpoint)
{
	struct placement placement;

	for (size_t i = 0; i < endpoint->n_addresses; i++)
		if (policy_place(policy, endpoint, &endpoint->addresses[i], &placement) == -ENOENT)
			return true;
	return false;
}

static bool needs_extension(const struct lazy_policy *plain, const struct endpoint *endpoint)
{
	return extend_can(plain, endpoint) && fits_none(plain, endpoint);
}

static bool is_staged(struct node_handle *handle, int *error)
{
	struct bh_blob next, current;

	*error = pinned_read_headers(handle, &next, &current);
	return !*error && next.generation == BH_BLOB_STAGED;
}

static int compare_names(const void *a, const void *b)
{
	const struct endpoint *x = a, *y = b;
	int order = strcmp(x->ns_name, y->ns_name);

	return order ? order : strcmp(x->name, y->name);
}

/* Removes the endpoints that fit segments of the policy, and sorts the others, so that equal
 * endpoints make equal extensions. */
static void keep_needy(struct cluster *cluster, const struct lazy_policy *plain)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_endpoints; i++)
		if (needs_extension(plain, &cluster->endpoints[i]))
			cluster->endpoints[n++] = cluster->endpoints[i];
	cluster->n_endpoints = n;
	if (n)
		qsort(cluster->endpoints, n, sizeof(*cluster->endpoints), compare_names);
}

/* Extends @policy by the endpoints of @cluster. If that is not possible, the endpoints stay
 * isolated, with a warning. *@extended NULL: nothing is added. */
static int extend(struct node_handle *handle, const struct policy *policy,
		  const struct cluster *cluster, struct policy **extended)
{
	const struct extend job = {
		.policy = policy,
		.before = handle->blob.local ? pinned_whole(handle) : NULL,
		.next = handle->blob.local_next,
		.endpoints = cluster->endpoints,
		.n = cluster->n_endpoints,
	};
	int error = cluster->n_endpoints ? policy_extend(&job, extended) : 0;

	if (error == -ENOMEM)
		return node_fail(handle, error, "cannot make segments for new endpoints");
	if (error)
		diag_warn(
			handle->diag, NULL, NULL,
			"no segment can be made for new endpoints (%s): they are isolated until a "
			"policy knows them",
			strerror(-error));
	return 0;
}

static int plan_pin(struct node_handle *handle, const struct policy *policy, struct change *change)
{
	const struct policy *plain = policy_plain(pinned_whole(handle));
	struct change_policy *pin = &change->policy;
	int error = 0;

	pin->header = handle->blob;
	pin->header.generation = (uint64_t)node_generation(handle) + 1;
	pin->header.segments = policy->n_segments;
	pin->header.blocks = 0;
	if (policy != plain) {
		pin->header.local_next = extend_next(policy);
		error = extend_delta(plain, policy, &pin->local);
	}
	if (!error)
		error = extend_delta(plain, plain, &pin->nothing);
	pin->delta = handle->blob.base ? NULL : pin->nothing;
	pin->stays = true;
	change->commits = change->complete = true;
	return error ? node_fail(handle, error, "cannot write the policy down") : 0;
}

/* Plans the records that the extension adds, and those that only the extension before had. Port
 * lists are found by their content (planner.ports_end 0), so that a new one fills a gap: endpoints
 * of their own kind may come and go often. */
static int plan_segments(struct node_handle *handle, const struct policy *policy,
			 struct change *change)
{
	CLEANUP(planner_free) struct planner plan = {};
	int error;

	planner_init(&plan, handle, policy, handle->blob.ids, NULL, change);
	plan.delta = change->policy.local ? change->policy.local : change->policy.nothing;
	plan.old = lazy_plain(handle->policy);
	plan.extension_ends = pinned_local(handle);
	error = segment_entries_plan(&plan);
	change->policy.slots = TAKE_PTR(plan.slots);
	change->policy.header.ports_end = plan.ports_end;
	return error && error != -EINVAL
		       ? node_fail(handle, error, "cannot compare the policy with the maps of %s",
				   handle->pin)
		       : error;
}

/* Makes the change put @policy, with or without an extension, in place of the active policy. */
static int plan(struct node_handle *handle, const struct policy *policy, struct change *change)
{
	int error = plan_pin(handle, policy, change);

	return error ? error : plan_segments(handle, policy, change);
}

static void report_unknown(const struct node_handle *handle, const struct endpoint *endpoint)
{
	if (endpoint->unknown || endpoint->as_policy || extend_can(handle->policy, endpoint))
		return;
	diag_warn(handle->diag, NULL, NULL,
		  "endpoint %s/%s: the active policy has no namespace %s, so its labels are not "
		  "known; load a policy that has it",
		  endpoint->ns_name, endpoint->name, endpoint->ns_name);
}

static bool is_of(const struct endpoint *endpoint, const struct table *records)
{
	const struct bh_added name = record_name(endpoint->ns_name, endpoint->name);

	for (size_t i = 0; i < records->n; i++)
		if (record_is_of(table_value(records, i), &name))
			return true;
	return false;
}

/* Reads the added endpoints. Leaves out those whose records are in @deleted, and takes @endpoint in
 * its new form. */
static int read_others(struct node_handle *handle, const struct endpoint *endpoint,
		       const struct table *deleted, struct cluster *cluster)
{
	int error = record_read_all(handle, NULL, cluster);
	size_t n = 0;

	for (size_t i = 0; !error && i < cluster->n_endpoints; i++)
		if (!is_of(&cluster->endpoints[i], deleted) &&
		    (!endpoint || strcmp(cluster->endpoints[i].name, endpoint->name) ||
		     strcmp(cluster->endpoints[i].ns_name, endpoint->ns_name)))
			cluster->endpoints[n++] = cluster->endpoints[i];
	cluster->n_endpoints = n;
	if (!error && endpoint)
		*cluster_add_endpoint(cluster) = *endpoint;
	return error;
}

/* Makes the change extend the policy for exactly the endpoints that need the extension. */
static int remake(struct node_handle *handle, const struct endpoint *endpoint,
		  const struct table *deleted, struct change *change, struct extension *extension)
{
	CLEANUP(cluster_free) struct cluster cluster;
	struct policy *extended = NULL, *before;
	int error = pinned_read(handle);

	cluster_init(&cluster);
	if (!error)
		error = read_others(handle, endpoint, deleted, &cluster);
	if (!error)
		keep_needy(&cluster, lazy_plain(handle->policy));
	if (!error)
		error = extend(handle, policy_plain(pinned_whole(handle)), &cluster, &extended);
	if (error || (cluster.n_endpoints && !extended))
		return error;
	before = pinned_whole(handle);
	*extension = (struct extension){handle, extended, before};
	error = plan(handle, extended ? extended : policy_plain(before), change);
	handle->policy = extended ? &extended->lazy : before->plain;
	return error;
}

/* Extends the policy by an endpoint that fits none of its segments. */
static int add(struct node_handle *handle, const struct endpoint *endpoint, struct change *change,
	       struct extension *extension)
{
	const struct table none = {};
	int error;

	if (!extend_can(handle->policy, endpoint)) {
		report_unknown(handle, endpoint);
		return 0;
	}
	if (is_staged(handle, &error)) {
		diag_warn(handle->diag, NULL, NULL,
			  "endpoint %s/%s gets its segment when the staged policy is activated",
			  endpoint->ns_name, endpoint->name);
		return 0;
	}
	return error ? error : remake(handle, endpoint, &none, change, extension);
}

/* Returns true if one of the records is of an endpoint that needs the extension. */
static bool are_needy(const struct lazy_policy *plain, const struct table *records)
{
	CLEANUP(cluster_free) struct cluster cluster;
	struct endpoint *endpoint;
	bool needy = false;

	cluster_init(&cluster);
	for (size_t i = 0; i < records->n && !needy; i++) {
		const struct bh_added *record = table_value(records, i);

		needy = *record->name && !record_read(record, &cluster, &endpoint) &&
			needs_extension(plain, endpoint);
	}
	return needy;
}

bool extension_is_for(const struct node_handle *handle, const struct table *records)
{
	return handle->blob.local && are_needy(lazy_plain(handle->policy), records);
}

int extension_set(struct node_handle *handle, const struct endpoint *endpoint,
		  const struct table *before, struct change *change, struct extension *extension)
{
	int error = 0;

	if (endpoint && fits_none(handle->policy, endpoint))
		return add(handle, endpoint, change, extension);
	if (!extension_is_for(handle, before) || is_staged(handle, &error))
		return error;
	return error ? error : remake(handle, endpoint, before, change, extension);
}

int extension_del(struct node_handle *handle, struct change *change)
{
	CLEANUP(extension_close) struct extension extension = {};

	return extension_set(handle, NULL, &change->maps[MAP_added].deleted, change, &extension);
}

int extension_capacity(struct node_handle *handle, struct change *change)
{
	return change->policy.stays ? capacity_plan(handle, handle->policy->next_rule, change) : 0;
}

int extension_renew(struct node_handle *handle, const struct change *change)
{
	int error;

	if (!change->policy.stays || handle->options->dry_run)
		return 0;
	error = pinned_find(handle);
	/* the policy before the change must not be taken for the active policy */
	if (error)
		lazy_policy_free(TAKE_PTR(handle->policy));
	return error;
}

int extension_needy(struct node_handle *handle, const struct lazy_policy *policy,
		    const struct table *gone, struct cluster *needy)
{
	const int error = read_others(handle, NULL, gone, needy);

	for (size_t i = 0; !error && i < needy->n_endpoints; i++)
		expected_find(policy, needy, &needy->endpoints[i]);
	if (!error)
		keep_needy(needy, policy);
	return error;
}

int extension_load(struct node_handle *handle, const struct policy *policy,
		   const struct cluster *endpoints, struct policy **extended, struct delta **delta)
{
	struct cluster needy = *endpoints;
	int error = 0;

	needy.endpoints = calloc(endpoints->n_endpoints + 1, sizeof(*needy.endpoints));
	if (!needy.endpoints)
		return node_fail(handle, -ENOMEM, "cannot list the endpoints of %s", handle->pin);
	/* a cluster without endpoints has no table of them */
	if (endpoints->n_endpoints)
		memcpy(needy.endpoints, endpoints->endpoints,
		       endpoints->n_endpoints * sizeof(*needy.endpoints));
	keep_needy(&needy, policy_lazy(policy));
	if (needy.n_endpoints && handle->blob.local)
		error = pinned_read(handle);
	if (!error)
		error = extend(handle, policy, &needy, extended);
	if (!error && *extended)
		error = extend_delta(policy, *extended, delta);
	free(needy.endpoints);
	return error;
}
