// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "compile/isolation.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/segment.h"
#include "maps/share.h"
#include "node/kernel/past.h"
#include "node/kernel/attach.h"
#include "node/kernel/connections.h"
#include "node/change/endpoint_del.h"
#include "node/kernel/maps.h"
#include "node/kernel/mount.h"
#include "node/kernel/pins.h"
#include "node/change/places.h"
#include "node/kernel/programs.h"
#include "node/kernel/event_reader.h"
#include "node/kernel/rights.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/settings.h"
#include "node/kernel/socket.h"
#include "node/kernel/pinned.h"
#include "node/kernel/tally.h"

#define N_CONNECTION_MAPS 1

/* Sweeps after which the connections that the first load took over are counted. The first may have
 * begun before. */
#define SWEEPS_ADOPTED 2

/* Adds the interfaces that have come up since the last load: they have no hook. */
static void add_newcomers(const struct table *ifaces, const struct link *links, size_t n,
			  struct node_status *status)
{
	for (size_t i = 0; i < n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];

		if (!links[i].up || links[i].loopback || table_find(ifaces, &links[i].ifindex))
			continue;
		iface->ifindex = links[i].ifindex;
		iface->flags = BH_IFACE_OTHER;
		iface->late = true;
		snprintf(iface->name, sizeof(iface->name), "%s", links[i].name);
		status->n_ifaces++;
	}
}

static int read_ifaces(struct node_handle *handle, const struct table *ifaces,
		       struct node_status *status)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n_links = 0;
	int error = rtnl_links(handle->rtnl, &links, &n_links);

	if (error)
		return node_fail(handle, error, "cannot list the interfaces");
	status->ifaces = calloc(ifaces->n + n_links + 1, sizeof(*status->ifaces));
	if (!status->ifaces)
		return -ENOMEM;
	for (size_t i = 0; i < ifaces->n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];
		const struct bh_iface *entry = table_value(ifaces, i);
		struct attached attached;

		iface->ifindex = *(uint32_t *)table_key(ifaces, i);
		iface->flags = entry->flags;
		if (!if_indextoname(iface->ifindex, iface->name))
			iface->name[0] = '\0';
		/* a deleted pod's interface, which no longer exists */
		if (!*iface->name && endpoint_del_is_sealed(entry))
			continue;
		error = attach_read(handle, iface->ifindex, iface->flags, &attached);
		if (error)
			return error;
		iface->ingress = attached.ingress;
		iface->egress = attached.egress;
		iface->xdp = attached.xdp;
		iface->dispatched = attached.dispatched;
		iface->orphan = attached.orphan;
		iface->guarded = iface->name[0] && attach_is_complete(&attached, iface->flags);
		if (attached.before)
			attach_program_name(attached.before, iface->before);
		status->n_ifaces++;
	}
	add_newcomers(ifaces, links, n_links, status);
	return 0;
}

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

static void name_share(const struct node_status *status, uint32_t key, char name[16])
{
	snprintf(name, 16, "%s", key == BH_SHARE_NODE ? "node" : "");
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (status->ifaces[i].ifindex == key)
			memcpy(name, status->ifaces[i].name, 16);
}

/* Lists who holds connections, the largest first. */
static int list_shares(const struct connections_share *all, size_t n, struct node_status *status)
{
	status->shares = calloc(n + 1, sizeof(*status->shares));
	if (!status->shares)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct node_share *share = &status->shares[status->n_shares];

		*share = (struct node_share){.used = bh_share_used(all[i].share.count),
					     .found = all[i].found,
					     .differs = all[i].differs,
					     .replaced = all[i].share.replaced,
					     .refused = all[i].share.refused};
		status->connections.used += share->found;
		status->connections.replaced += share->replaced;
		status->connections.refused += share->refused;
		if (!share->used && !share->found && !share->replaced && !share->refused)
			continue;
		name_share(status, all[i].key, share->name);
		status->n_shares++;
	}
	return 0;
}

/* Reads how full the table of connections is. A connection counts until the sweeper frees it. */
static int read_connections(struct node_handle *handle, struct node_status *status)
{
	CLEANUP(connections_close) struct connections connections = {};
	SCOPED_FREE struct connections_share *shares = NULL;
	struct node_connections *table = &status->connections;
	size_t n = 0;
	int error = connections_open(handle, &connections);

	if (!error)
		error = settings_connections(handle, &table->room);
	if (!error)
		error = connections_shares(handle, &connections, &shares, &n);
	if (!error)
		error = list_shares(shares, n, status);
	if (error)
		return node_fail(handle, error, "cannot read %s/ct", handle->pin);
	table->floor = connections.total->floor;
	table->surplus = connections.total->surplus;
	table->surplus_room = connections.total->room;
	table->corrected = connections.total->corrected;
	table->counted = connections.total->sweeps > SWEEPS_ADOPTED;
	status->maps[status->n_maps++] =
		(struct node_map){.name = "ct", .used = table->used, .max = table->room};
	return 0;
}

/* The name of an endpoint by its interface, or "". */
static void name_endpoint(const struct node_status *status, const struct table *endpoints,
			  uint32_t ifindex, char name[512])
{
	const struct policy *policy = status->policy;

	for (size_t i = 0; i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		const struct policy_endpoint *endpoint = &policy->endpoints[address->endpoint];
		const struct bh_endpoint *entry = table_find(endpoints, &address->address);

		if (!entry || entry->ifindex != ifindex)
			continue;
		snprintf(name, 512, "%s/%s",
			 policy_string(policy, policy->namespaces[endpoint->ns].name),
			 policy_string(policy, endpoint->name));
		return;
	}
}

/* The state of add_suppressed(). */
struct suppressed {
	struct node_status *status;
	const struct table *endpoints;
};

static int add_suppressed(void *data, const struct bh_tally_key *key, const struct bh_tally *sum)
{
	const struct suppressed *suppressed = data;
	struct node_status *status = suppressed->status;
	struct node_suppressed *entry = &status->suppressed[status->n_suppressed];

	if (status->n_suppressed == status->n_ifaces || !tally_suppressed(sum) ||
	    !if_indextoname(key->ifindex, entry->name))
		return 0;
	entry->events = tally_suppressed(sum);
	name_endpoint(status, suppressed->endpoints, key->ifindex, entry->endpoint);
	status->n_suppressed++;
	return 0;
}

#define RECENT_SECONDS 60

static int compare_recent(const void *a, const void *b)
{
	const struct node_recent *x = a, *y = b;

	return x->time > y->time ? -1 : x->time < y->time;
}

/* Lists the interfaces that the kept drops of the last minute are of. */
static int list_recent(struct node_handle *handle, const struct table *endpoints,
		       struct node_status *status)
{
	CLEANUP(past_free) struct past past = {};
	struct timespec now;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec -= now.tv_sec > RECENT_SECONDS ? RECENT_SECONDS : now.tv_sec;
	error = past_read(handle, now.tv_sec * UINT64_C(1000000000), &past);
	status->recent = calloc(past.n + 1, sizeof(*status->recent));
	if (error || !status->recent)
		return error ? error : -ENOMEM;
	for (size_t i = 0; i < past.n; i++) {
		const struct past_drop *drop = &past.at[i];
		size_t k = 0;

		if (drop->event.flags & BH_EVENT_AUDIT)
			continue;
		while (k < status->n_recent && status->recent[k].ifindex != drop->ifindex)
			k++;
		if (k == status->n_recent) {
			if (!if_indextoname(drop->ifindex, status->recent[k].name))
				continue;
			status->recent[k].ifindex = drop->ifindex;
			name_endpoint(status, endpoints, drop->ifindex, status->recent[k].endpoint);
			status->n_recent++;
		}
		status->recent[k].drops += 1 + drop->event.more;
		status->recent[k].time = drop->event.time;
	}
	qsort(status->recent, status->n_recent, sizeof(*status->recent), compare_recent);
	return 0;
}

static int read_events(struct node_handle *handle, const struct table *endpoints,
		       struct node_status *status)
{
	struct suppressed suppressed = {status, endpoints};
	int error;

	status->suppressed = calloc(status->n_ifaces + 1, sizeof(*status->suppressed));
	if (!status->suppressed)
		return -ENOMEM;
	error = reader_status(handle, status);
	if (!error)
		error = tally_each(handle, add_suppressed, &suppressed);
	if (!error)
		error = tally_drops(handle, status);
	if (!error)
		error = list_recent(handle, endpoints, status);
	return error ? node_fail(handle, error, "cannot read %s/tallies", handle->pin) : 0;
}

static int read_maps(struct node_handle *handle, const struct image *image,
		     struct node_status *status)
{
	status->maps = calloc(N_NODE_MAPS + N_CONNECTION_MAPS, sizeof(*status->maps));
	if (!status->maps)
		return -ENOMEM;
	for (int i = 0; i < N_NODE_MAPS; i++)
		status->maps[status->n_maps++] = (struct node_map){.name = node_map_names[i],
								   .used = places_used(image, i),
								   .max = handle->room[i]};
	return read_connections(handle, status);
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

/* Where nothing is loaded: looks for programs whose pins are gone at every interface. */
static int read_orphans(struct node_handle *handle, struct node_status *status)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(handle->rtnl, &links, &n);

	status->ifaces = calloc(n + 1, sizeof(*status->ifaces));
	if (error || !status->ifaces)
		return error ? error : -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];
		struct attached attached;

		error = attach_read(handle, links[i].ifindex, 0, &attached);
		if (error)
			return error;
		if (!attached.orphan)
			continue;
		*iface = (struct node_iface){.ifindex = links[i].ifindex, .orphan = true};
		memcpy(iface->name, links[i].name, sizeof(iface->name));
		status->n_ifaces++;
	}
	return 0;
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
		error = read_orphans(handle, status);
	if (error || !handle->policy)
		return error;
	status->policy = pinned_take(handle);
	strcpy(status->node, handle->blob.node);
	status->abi = handle->config->abi;
	status->loaded = handle->blob.loaded;
	status->generation = node_generation(handle);
	status->killed = node_is_busy(handle) && !pins_are_locked(handle);
	status->elsewhere = attach_is_elsewhere(handle);
	status->own_mount = mount_is_own(handle);
	error = programs_are_own(handle, &status->own_programs);
	status->own_sockets = socket_is_attached(handle);
	if (!error)
		error = read_generations(handle, status);
	if (!error)
		error = image_read(handle, &image);
	if (!error)
		error = read_ifaces(handle, &image.map[MAP_ifaces], status);
	if (!error)
		error = find_pods(status, &image.map[MAP_endpoints]);
	if (!error)
		error = count_endpoints(status);
	if (!error)
		error = read_maps(handle, &image, status);
	return error ? error : read_events(handle, &image.map[MAP_endpoints], status);
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
