// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds, changes and removes one endpoint, at a cost that does not grow with the number of
 * endpoints: of the active policy it reads only the records that place the endpoint.
 */
#include <errno.h>

#include "policy/isolation.h"
#include "policy/lazy_policy.h"
#include "node/change/apply.h"
#include "node/change/endpoint_begin.h"
#include "node/plan/added_record.h"
#include "node/plan/endpoint_add.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/endpoint_find.h"
#include "node/plan/endpoint_set.h"
#include "node/plan/extension.h"
#include "node/plan/isolated.h"

/* Applies a change. Once the change is active, a failure is a warning, and 0 is returned. */
static int apply_or_warn(struct node_handle *handle, struct change *change, const char *ns,
			 const char *name, const char *what)
{
	struct outcome outcome = {};
	int error = endpoint_apply(handle, change, &outcome);

	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL, "endpoint %s/%s is %s", ns, name, what);
	return 0;
}

/* Returns true if the endpoint is in audit by its own flag, or by the flag of its name or namespace
 * in the active policy. */
static bool is_audited(const struct node_handle *handle, const struct endpoint *endpoint)
{
	const struct lazy_policy *policy = handle->policy;
	const struct policy_namespace *ns = lazy_namespace_by_name(policy, endpoint->ns_name);
	const struct policy_endpoint *known =
		lazy_endpoint_by_name(policy, endpoint->ns_name, endpoint->name);

	return endpoint->audit || (ns && ns->flags & POLICY_AUDIT) ||
	       (known && known->flags & POLICY_AUDIT);
}

int node_endpoint_add(struct node_handle *handle, const struct endpoint *endpoint, bool *isolated)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	CLEANUP(local_free) struct local local = {};
	CLEANUP(change_free) struct change change;
	struct extension extension = {};
	const struct table none = {};
	struct endpoint here = *endpoint;
	int error = begin(handle, &beginning);

	*isolated = false;
	change_init(&change, "endpoint add");
	if (!error)
		error = endpoint_check_free(handle, endpoint);
	if (!error)
		here.audit = is_audited(handle, endpoint);
	if (!error)
		error = local_read_one(handle, &here, &beginning.ifaces, &local);
	if (!error)
		error = extension_set(handle, endpoint, &none, &change, &extension);
	if (!error)
		error = endpoint_add_plan(handle, endpoint, &local, &change, isolated);
	/* plans only: the change has what it needs */
	extension_close(&extension);
	return error ? error
		     : apply_or_warn(handle, &change, endpoint->ns_name, endpoint->name,
				     "active; the next command collects what is left over");
}

/* Warns if the endpoint was isolated in more directions (@before) than it is now. */
static void warn_of_opening(const struct node_handle *handle, const struct node_endpoint_set *set,
			    const struct bh_added *name, uint8_t before)
{
	uint8_t after, opened;

	if (isolated_read(handle, name, &after))
		return;
	opened = before & ~after;
	if (opened)
		diag_warn(handle->diag, NULL, NULL, "endpoint %s/%s is isolated no longer %s",
			  set->ns, set->name, isolation_directions(opened));
}

int node_endpoint_set(struct node_handle *handle, const struct node_endpoint_set *set,
		      bool *isolated)
{
	const struct bh_added name = record_name(set->ns, set->name);
	CLEANUP(change_free) struct change change;
	struct extension extension = {};
	uint8_t before = 0;
	int error = begin_once(handle);

	*isolated = false;
	change_init(&change, "endpoint set");
	if (!error)
		error = endpoint_set_plan(handle, set, &change, &extension, isolated);
	/* plans only: the change has what it needs */
	extension_close(&extension);
	/* reads all isolations, so only if anything changes */
	if (!error && change.commits && !handle->options->dry_run)
		error = isolated_read(handle, &name, &before);
	if (error || !change.commits)
		return error;
	error = apply_or_warn(handle, &change, set->ns, set->name,
			      "changed, and the next load does not know it");
	handle->begun = !error && !node_is_busy(handle);
	if (!error && before)
		warn_of_opening(handle, set, &name, before);
	return error;
}

int node_endpoint_del(struct node_handle *handle, const char *ns, const char *name)
{
	const struct bh_added wanted = record_name(ns, name);
	CLEANUP(beginning_end) struct beginning beginning = {.wanted = &wanted};
	CLEANUP(change_free) struct change change;
	struct outcome outcome = {};
	int error;

	change_init(&change, "endpoint del");
	error = begin_with(handle, &beginning, &change);
	if (!error && !beginning.went)
		error = endpoint_del_plan(&beginning.own, &wanted);
	if (!error)
		error = begin_finish(handle, &beginning, &change, &outcome);
	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL,
		  "endpoint %s/%s is off; the next command collects what is left of it", ns, name);
	return 0;
}

int node_interfaces_del(struct node_handle *handle, const uint32_t *ifindexes, size_t n)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	CLEANUP(change_free) struct change change;
	struct outcome outcome = {};
	struct bh_added owner;
	struct bh_iface iface;
	int error;

	change_init(&change, "interfaces that containers leave");
	error = begin_with(handle, &beginning, &change);
	for (size_t i = 0; !error && i < n; i++)
		if (!maps_lookup(handle, MAP_ifaces, &ifindexes[i], &iface))
			error = endpoint_del_at(&beginning.own, ifindexes[i], &iface, &owner);
	if (!error)
		error = begin_finish(handle, &beginning, &change, &outcome);
	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL,
		  "endpoints are off; the next command collects what is left of them");
	return 0;
}

/* Plans to remove an address. The change may do so already, since the address' interface is gone.
 */
static int plan_address(struct own_interfaces *own, const struct address *address)
{
	CLEANUP(table_free) struct table members = {};
	struct bh_endpoint entry;
	int error;

	maps_init_table(MAP_endpoints, &members);
	if (table_seek(&own->change->forget, address))
		return 0;
	error = maps_lookup(own->handle, MAP_endpoints, address, &entry);
	if (error == -ENOENT)
		return 0;
	if (!error)
		error = table_add(&members, address, &entry);
	return error ? node_fail(own->handle, error, "cannot look for an address")
		     : endpoint_del_members(own, &members);
}

int node_addresses_del(struct node_handle *handle, const struct address *addresses, size_t n)
{
	CLEANUP(beginning_end) struct beginning beginning = {};
	CLEANUP(change_free) struct change change;
	struct outcome outcome = {};
	int error;

	change_init(&change, "addresses that have other owners");
	error = begin_with(handle, &beginning, &change);
	for (size_t i = 0; !error && i < n; i++)
		error = plan_address(&beginning.own, &addresses[i]);
	if (!error)
		error = begin_finish(handle, &beginning, &change, &outcome);
	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL,
		  "addresses are off; the next command collects what is left of them");
	return 0;
}
