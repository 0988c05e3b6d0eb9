// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/isolation.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/segment.h"
#include "node/kernel/attach.h"
#include "node/kernel/ipsec.h"
#include "node/kernel/maps.h"
#include "node/kernel/mount.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/programs.h"
#include "node/kernel/rights.h"
#include "node/kernel/settings.h"
#include "node/kernel/socket_link.h"
#include "node/observe/status_parts.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/port_lists.h"

#define N_CONNECTION_MAPS 1

static bool is_guarded(const struct node_status *status, uint32_t ifindex)
{
	for (size_t i = 0; ifindex && i < status->n_ifaces; i++)
		if (status->ifaces[i].ifindex == ifindex)
			return status->ifaces[i].guarded;
	return false;
}

static int find_pods(struct node_status *status, const struct table *endpoints)
{
	const struct policy *policy = status->policy;

	status->unguarded = calloc(policy->n_endpoints + 1, sizeof(*status->unguarded));
	status->pods = calloc(policy->n_endpoints + 1, sizeof(*status->pods));
	if (!status->unguarded || !status->pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		const struct bh_endpoint *entry;

		if (!endpoint->node || !endpoint->addresses.n ||
		    strcmp(policy_string(policy, endpoint->node), status->node))
			continue;
		entry = table_find(
			endpoints,
			&policy->addresses[policy->endpoint_addresses[endpoint->addresses.at]]
				 .address);
		if (entry && entry->ifindex)
			status->pods[status->n_pods++] = (struct node_pod){i, entry->ifindex};
		/* An endpoint without an entry was deleted by `endpoint del`. */
		if (entry && !is_guarded(status, entry->ifindex))
			status->unguarded[status->n_unguarded++] = i;
	}
	return 0;
}

/* Counts the endpoints at this node's interfaces that policies isolate, and those that are audited.
 */
static int count_endpoints(struct node_status *status)
{
	CLEANUP(isolations_free) struct isolations isolations;
	const struct policy *policy = status->policy;
	int error = isolations_make(&isolations, policy_lazy(policy));

	status->policies = policy->n_given;
	for (size_t i = 0; i < policy->n_given; i++)
		status->policies_audited += !!(policy->given[i].flags & POLICY_AUDIT);
	for (size_t i = 0; !error && i < status->n_pods; i++) {
		const struct policy_range addresses =
			policy->endpoints[status->pods[i].endpoint].addresses;
		uint8_t directions = 0;

		for (uint32_t k = 0; k < addresses.n; k++) {
			const uint32_t segment =
				policy->addresses[policy->endpoint_addresses[addresses.at + k]]
					.segment;

			directions |= isolations_of(
				&isolations,
				segment == POLICY_NOWHERE ? NULL : &policy->segments[segment]);
		}
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			status->isolated[d] += directions >> d & 1;
	}
	for (size_t i = 0; i < status->n_ifaces; i++)
		status->audited += status->ifaces[i].flags & BH_IFACE_ENDPOINT &&
				   status->ifaces[i].flags & BH_IFACE_AUDIT;
	return error;
}

static int read_maps(struct node_handle *handle, const struct image *image,
		     struct node_status *status)
{
	status->maps = calloc(N_NODE_MAPS + N_CONNECTION_MAPS, sizeof(*status->maps));
	if (!status->maps)
		return -ENOMEM;
	for (int i = 0; i < N_NODE_MAPS; i++)
		status->maps[status->n_maps++] =
			(struct node_map){.name = node_map_names[i],
					  .used = port_lists_used(image, i),
					  .max = handle->capacity[i]};
	return status_read_connections(handle, status);
}

/* Reads which policies are in the maps, by their pins: the next policy has its pin once all of it
 * is in the maps, and the last one keeps its pin as long as the maps may have anything of it. */
static int read_generations(struct node_handle *handle, struct node_status *status)
{
	const uint32_t active = status->policy->generation;
	struct bh_blob next, current;
	int error = pinned_read_headers(handle, &next, &current);

	status->staged = next.generation == BH_BLOB_STAGED;
	status->policy_generation = (struct node_generations){
		.desired = handle->config->desired_policy,
		.installed = next.generation ? next.policy : active,
		.active = active,
		.oldest = current.generation ? current.policy : active,
	};
	status->endpoint_generation = (struct node_generations){
		.desired = handle->config->desired_endpoint,
		.installed = status->staged ? active : status->policy_generation.installed,
		.active = active,
		.oldest = status->policy_generation.oldest,
	};
	return error;
}

int node_status(const char *pin, struct diag *diag, struct node_status *status)
{
	const struct node_options options = {.pin = pin};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	CLEANUP(image_free) struct image image;
	int error;

	*status = (struct node_status){};
	image_init(&image);
	error = node_look(&options, diag, &handle);
	if (!error && handle->policy)
		error = rights_to_look(handle);
	if (!error && !handle->policy && !geteuid())
		error = status_read_orphans(handle, status);
	if (!error && !handle->policy)
		status->no_bpffs = mount_is_missing(handle);
	if (error || !handle->policy)
		return error;
	status->policy = pinned_take(handle);
	strcpy(status->node, handle->blob.node);
	status->abi = handle->config->abi;
	status->loaded = handle->blob.loaded;
	status->all_audited = handle->blob.flags & BH_BLOB_AUDIT;
	snprintf(status->loaded_by, sizeof(status->loaded_by), "%s", handle->blob.by);
	status->generation = node_generation(handle);
	status->changing = pins_are_locked(handle);
	status->killed = node_is_busy(handle) && !status->changing;
	status->elsewhere = attach_is_elsewhere(handle);
	status->own_mount = mount_is_own(handle);
	error = status->elsewhere ? 0 : ipsec_outgoing(&status->ipsec);
	if (!error)
		error = programs_are_own(handle, &status->own_programs);
	status->own_sockets = socket_is_attached(handle);
	if (!error)
		error = read_generations(handle, status);
	status->changing |= pins_are_locked(handle) || handle->config->changes != handle->looked;
	if (!error)
		error = image_read(handle, &image);
	if (!error)
		error = status_read_ifaces(handle, &image.map[MAP_ifaces], status);
	if (!error)
		error = find_pods(status, &image.map[MAP_endpoints]);
	if (!error)
		error = count_endpoints(status);
	if (!error)
		error = read_maps(handle, &image, status);
	return error ? error : status_read_events(handle, &image.map[MAP_endpoints], status);
}

void node_status_free(struct node_status *status)
{
	policy_free(status->policy);
	free(status->unguarded);
	free(status->pods);
	free(status->ifaces);
	free(status->maps);
	free(status->shares);
	free(status->suppressed);
	free(status->recent);
	free(status->drops);
}
