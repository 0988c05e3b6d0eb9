// SPDX-License-Identifier: GPL-2.0-only
/* The readers of events, events that were held back, and the drops that are kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maps/endpoint.h"
#include "node/kernel/event_reader.h"
#include "node/kernel/last_drops.h"
#include "node/kernel/tallies.h"
#include "node/observe/status_parts.h"

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

int status_read_events(struct node_handle *handle, const struct table *endpoints,
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
	if (error)
		return node_fail(handle, error,
				 "cannot read %s/tallies: load puts a missing pin back",
				 handle->pin);
	return 0;
}
