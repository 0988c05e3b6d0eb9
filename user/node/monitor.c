// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compile/service.h"
#include "maps/added.h"
#include "maps/endpoint.h"
#include "maps/segment.h"
#include "node/monitor.h"
#include "node/pins.h"
#include "node/store.h"
#include "node/translated.h"

/* A policy, and the generations at which it is known to have been in force. */
struct names {
	struct policy *policy;
	uint64_t since, until;
};

struct monitor {
	struct node_options options;
	struct host *host;
	struct ring_buffer *ring;
	struct nfct_handle *conntrack; /* the kernel's; NULL: not asked yet */
	int added, endpoints, segments; /* maps: who is in force; opened again at each generation */
	bool part; /* the maps have what the node needs of the policy */
	struct names now, before; /* events of a generation may still come after its end */
	/* Of the monitor_read() in progress. */
	int (*visit)(void *data, const struct bh_event *event);
	void *data;
};

void monitor_close(struct monitor *monitor)
{
	if (!monitor)
		return;
	ring_buffer__free(monitor->ring);
	translation_close(monitor->conntrack);
	cleanup_fd(&monitor->added);
	cleanup_fd(&monitor->endpoints);
	cleanup_fd(&monitor->segments);
	policy_free(monitor->now.policy);
	policy_free(monitor->before.policy);
	node_close(monitor->host);
	free(monitor);
}

static void cleanup_monitor(struct monitor **monitor)
{
	monitor_close(*monitor);
}

/* ring_buffer__consume() stops at what is negative, and returns it. */
static int take_event(void *context, void *event, size_t size)
{
	const struct monitor *monitor = context;

	(void)size;
	return monitor->visit(monitor->data, event) ? -ECANCELED : 0;
}

static int open_maps(struct monitor *monitor)
{
	SCOPED_FD int fd = pins_get(monitor->host, "events");

	if (monitor->added < 0 || monitor->endpoints < 0)
		return node_fail(monitor->host, -ENOENT, "cannot open %s/endpoints",
				 monitor->host->pin);
	if (fd < 0)
		return node_fail(monitor->host, fd, "cannot open %s/events", monitor->host->pin);
	monitor->ring = ring_buffer__new(fd, take_event, monitor, NULL);
	if (!monitor->ring)
		return node_fail(monitor->host, -errno, "cannot map %s/events", monitor->host->pin);
	return 0;
}

/* A load may have replaced them by larger ones. */
static void open_endpoints(struct monitor *monitor)
{
	cleanup_fd(&monitor->added);
	cleanup_fd(&monitor->endpoints);
	cleanup_fd(&monitor->segments);
	monitor->segments = pins_get(monitor->host, "segments");
	monitor->added = pins_get(monitor->host, "added");
	monitor->endpoints = pins_get(monitor->host, "endpoints");
	monitor->part = monitor->host->blob.flags & BH_BLOB_NEEDED;
}

/* Reads the policy in force, if it is another than the last. What cannot be read, since a command
 * is changing it, is read at a later event. */
static int read_policy(struct monitor *monitor)
{
	struct host *host = monitor->host;
	uint32_t generation = node_generation(host);
	int error = store_find(host);

	if (error || !host->policy)
		return error;
	open_endpoints(monitor);
	if (!monitor->now.policy || host->blob.generation != monitor->now.since) {
		error = store_read(host);
		if (error)
			return error;
		policy_free(monitor->before.policy);
		monitor->before = monitor->now;
		monitor->now.policy = TAKE_PTR(host->policy);
		monitor->now.since = monitor->now.until = host->blob.generation;
	}
	if (monitor->now.until < generation)
		monitor->now.until = generation;
	return 0;
}

int monitor_open(const char *pin, struct diag *diag, struct monitor **monitor)
{
	CLEANUP(cleanup_monitor) struct monitor *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	new->options.pin = pin;
	new->added = new->endpoints = new->segments = -1;
	error = node_new(&new->options, diag, &new->host);
	if (!error)
		error = pins_open_config(new->host);
	if (!error)
		error = read_policy(new);
	if (!error && new->now.policy)
		error = open_maps(new);
	if (error)
		return error;
	*monitor = new->now.policy ? TAKE_PTR(new) : NULL;
	return 0;
}

int monitor_read(struct monitor *monitor, int (*visit)(void *data, const struct bh_event *event),
		 void *data)
{
	int error;

	monitor->visit = visit;
	monitor->data = data;
	error = ring_buffer__consume(monitor->ring);
	return error < 0 && error != -ECANCELED ? error : 0;
}

bool monitor_is_live(const struct monitor *monitor)
{
	return node_generation(monitor->host);
}

static bool has(const struct names *names, uint32_t generation)
{
	return names->policy && generation >= names->since && generation <= names->until;
}

const struct policy *monitor_policy(struct monitor *monitor, uint32_t generation)
{
	if (generation > monitor->now.until)
		read_policy(monitor);
	if (has(&monitor->now, generation))
		return monitor->now.policy;
	return has(&monitor->before, generation) ? monitor->before.policy : NULL;
}

static bool name_of_endpoint(const struct policy *policy, const struct address *address,
			     char name[MONITOR_NAME])
{
	const struct policy_address *entry = policy_address_find(policy, address);
	const struct policy_endpoint *endpoint;

	if (!entry)
		return false;
	endpoint = &policy->endpoints[entry->endpoint];
	snprintf(name, MONITOR_NAME, "%s/%s",
		 policy_string(policy, policy->namespaces[endpoint->ns].name),
		 policy_string(policy, endpoint->name));
	return true;
}

static bool name_of_node(const struct policy *policy, const struct address *address,
			 char name[MONITOR_NAME])
{
	for (size_t i = 0; i < policy->n_nodes; i++) {
		const struct policy_node *node = &policy->nodes[i];

		for (uint32_t j = 0; j < node->addresses.n; j++) {
			if (memcmp(&policy->node_addresses[node->addresses.at + j], address,
				   sizeof(*address)))
				continue;
			snprintf(name, MONITOR_NAME, "node %s", policy_string(policy, node->name));
			return true;
		}
	}
	return false;
}

/* Whether the endpoint that the policy has by this address is not taken off. */
static bool is_in_force(const struct monitor *monitor, const struct address *address)
{
	struct bh_endpoint entry;

	return monitor->part || !bpf_map_lookup_elem(monitor->endpoints, address, &entry);
}

bool monitor_name(const struct monitor *monitor, const struct policy *policy,
		  const struct address *address, char name[MONITOR_NAME])
{
	struct bh_added added;

	if (!bpf_map_lookup_elem(monitor->added, address, &added)) {
		snprintf(name, MONITOR_NAME, "%s/%s", added.ns, added.name);
		return *added.name;
	}
	return policy &&
	       ((is_in_force(monitor, address) && name_of_endpoint(policy, address, name)) ||
		name_of_node(policy, address, name));
}

/* The connection of an event's packet, in the direction in which it was opened. */
static struct tuple tuple_of(const struct bh_event *event)
{
	struct tuple tuple = {.protocol = event->protocol};
	bool reply = event->flags & BH_EVENT_REPLY;

	memcpy(reply ? &tuple.destination : &tuple.source, &event->source, sizeof(event->source));
	memcpy(reply ? &tuple.source : &tuple.destination, &event->destination,
	       sizeof(event->destination));
	tuple.source_port = reply ? event->destination_port : event->source_port;
	tuple.destination_port = reply ? event->source_port : event->destination_port;
	return tuple;
}

bool monitor_service(struct monitor *monitor, const struct policy *policy,
		     const struct bh_event *event, char name[MONITOR_NAME])
{
	const struct policy_service *service = NULL;
	struct tuple tuple = tuple_of(event), before;
	char text[SERVICE_NAME_TEXT];

	if (!policy || !policy->n_frontends || event->flags & BH_EVENT_NO_PACKET)
		return false;
	service = service_called(policy, &tuple.destination, tuple.protocol,
				 ntohs(tuple.destination_port));
	if (!service && translation_ask(&monitor->conntrack, &tuple, &before))
		service = service_called(policy, &before.destination, before.protocol,
					 ntohs(before.destination_port));
	if (service)
		snprintf(name, MONITOR_NAME, "%s", service_name(policy, service, text));
	return service;
}

/* Of an endpoint that came since the policy was loaded, as the maps have it now. */
static uint32_t segment_in_maps(const struct monitor *monitor, const struct address *address)
{
	const struct host *host = monitor->host;
	struct bh_endpoint entry;
	struct bh_segment segment;
	uint32_t slot;

	if (bpf_map_lookup_elem(monitor->endpoints, address, &entry))
		return 0;
	slot = bh_assignment_slot(
		bh_assignment_at(entry.assignment[0], entry.assignment[1], node_generation(host)));
	return slot && !bpf_map_lookup_elem(monitor->segments, &slot, &segment)
		       ? segment.id ^ host->blob.ids
		       : 0;
}

uint32_t monitor_segment(const struct monitor *monitor, const struct policy *policy,
			 const struct address *address)
{
	const struct policy_address *known = policy ? policy_address_find(policy, address) : NULL;
	struct bh_added added;

	if (known && bpf_map_lookup_elem(monitor->added, address, &added))
		return policy->segments[known->segment].id;
	return segment_in_maps(monitor, address);
}

/* That of all backends of one IP version; 0: they have several, or none is known. */
static uint32_t segment_of_backends(const struct policy *policy,
				    const struct policy_frontend *frontend, bool ipv4)
{
	size_t n;
	const struct policy_backend *backends = frontend_backends(policy, frontend, &n);
	const struct policy_segment *all = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct policy_segment *one;

		if (address_is_ipv4(&backends[i].address) != ipv4)
			continue;
		one = backend_place(policy, &backends[i]).segment;
		if (all && one != all)
			return 0;
		all = one;
	}
	return all ? all->id : 0;
}

uint32_t monitor_called(const struct monitor *monitor, const struct policy *policy,
			const struct bh_event *event)
{
	const struct tuple tuple = tuple_of(event);
	struct service_frontends found;

	if (policy && policy->n_frontends &&
	    service_find(policy, monitor->host->blob.node, &tuple.destination, tuple.protocol,
			 ntohs(tuple.destination_port), &found) == SERVICE_FOUND)
		return segment_of_backends(policy, found.at, address_is_ipv4(&tuple.destination));
	return monitor_segment(monitor, policy, &tuple.destination);
}
