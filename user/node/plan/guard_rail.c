// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "maps/iface.h"
#include "node/kernel/maps.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"
#include "node/local/iface_entry.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/guard_rail.h"

int guard_rail_check_policy(const struct node_handle *handle, const struct policy *policy)
{
	if (policy->n_endpoints || policy->n_rules || policy->n_namespaces || policy->n_nodes ||
	    handle->options->force)
		return 0;
	diag_error(handle->diag, NULL, NULL,
		   "the input has no object: no pod, policy, namespace or node (--force loads it)");
	return -EINVAL;
}

/* Returns true if the policy waits to be activated: its stage was checked. */
static bool is_staged(struct node_handle *handle, uint64_t checksum)
{
	CLEANUP(pinned_staged_free) struct pinned_staged staged = {};

	return !pinned_read_staged_head(handle, &staged) && staged.generation &&
	       staged.checksum == checksum;
}

int guard_rail_check_count(struct node_handle *handle, size_t n, uint64_t checksum)
{
	const size_t before = handle->policy ? handle->policy->n_given : 0;

	if (handle->options->force || handle->options->quarantine || 2 * n >= before ||
	    is_staged(handle, checksum))
		return 0;
	diag_error(handle->diag, NULL, NULL,
		   "nothing was changed: the input has %zu policies, and %zu are active (--force "
		   "loads it, `diff` says what opens)",
		   n, before);
	return -EINVAL;
}

/* Returns true if the interface exists, is guarded as an endpoint's, and would lose that guard by
 * the load. */
static bool loses_guard(const struct table *ifaces, size_t i, const struct local *local)
{
	const struct bh_iface *iface = table_value(ifaces, i);
	const struct bh_iface *then = table_find(&local->ifaces, table_key(ifaces, i));

	return iface->flags & BH_IFACE_ENDPOINT && !(then && then->flags & BH_IFACE_ENDPOINT) &&
	       local_link(local, *(uint32_t *)table_key(ifaces, i));
}

/* Reports an endpoint that loses its guard: an error, or with `force` a warning. */
static void report_loss(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface,
			const char *name)
{
	const bool force = handle->options->force;
	struct bh_added owner = {};

	if (active_owner_at(handle, ifindex, &iface->ipv4, &owner) ||
	    active_owner_at(handle, ifindex, &iface->ipv6, &owner))
		diag_report(handle->diag, force ? DIAG_WARNING : DIAG_ERROR, NULL, NULL,
			    "endpoint %s/%s %s taken off, and its interface %s is there", owner.ns,
			    owner.name, force ? "is" : "would be", name);
	else
		diag_report(handle->diag, force ? DIAG_WARNING : DIAG_ERROR, NULL, NULL,
			    "interface %s %s guarded no more", name, force ? "is" : "would be");
}

int guard_rail_check_guard(struct node_handle *handle, const struct table *ifaces,
			   const struct local *local)
{
	size_t guarded = 0, n = 0;

	for (size_t i = 0; i < ifaces->n; i++) {
		const uint32_t ifindex = *(uint32_t *)table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);

		const bool loses = loses_guard(ifaces, i, local);

		/* a quarantined interface has no endpoint */
		guarded += loses || iface_entry_has_endpoint(iface);
		if (!loses)
			continue;
		n++;
		report_loss(handle, ifindex, iface, local_link(local, ifindex)->name);
	}
	if (!n || handle->options->force)
		return 0;
	diag_error(
		handle->diag, NULL, NULL,
		"nothing was changed: %zu of %zu endpoints would not be guarded any more (--force "
		"takes them off, `endpoint del` one)",
		n, guarded);
	return -EINVAL;
}
