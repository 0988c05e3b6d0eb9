// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/frontend.h"
#include "maps/added.h"
#include "maps/dns.h"
#include "maps/endpoint.h"
#include "maps/segment.h"
#include "node/kernel/domain_maps.h"
#include "node/kernel/event_reader.h"
#include "node/kernel/last_drops.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/tallies.h"
#include "node/kernel/translations.h"
#include "node/observe/event_filter.h"
#include "node/observe/event_monitor.h"

/* A policy, and the generations at which it is known to have been active. */
struct event_names {
	struct policy *policy;
	uint64_t since, until;
};

/* Events of an interface that were held back, by enum bh_direction. */
struct left_out {
	uint64_t events[2];
};

struct monitor {
	struct node_options options;
	struct node_handle *handle;
	uint32_t config; /* ID of the map bh_config of the maps that are read */
	const struct monitor_filter *filter;
	struct ring_reader *reader;
	struct table ends; /* the filter's endpoints, as written to the reader */
	uint32_t ends_at; /* the generation at which `ends` was written */
	struct table left_out; /* by ifindex: events left out, as of the last monitor_left_out() */
	uint64_t lost; /* events lost, as of the last monitor_left_out() */
	struct table local; /* by address: struct bh_endpoint of this node's endpoints */
	uint32_t local_at; /* generation; 0: not read yet */
	struct nfct_handle *conntrack; /* the kernel's; NULL: not asked yet */
	/* fds of the maps that say which endpoints are active; opened again at each generation */
	int added, endpoints, segments, learned;
	struct event_names now, before; /* events of a generation may still come after its end */
	/* The arguments of the monitor_read() in progress. */
	int (*visit)(void *data, const struct bh_event *event);
	void *data;
};

void monitor_close(struct monitor *monitor)
{
	if (!monitor)
		return;
	reader_close(monitor->reader);
	table_free(&monitor->ends);
	table_free(&monitor->left_out);
	table_free(&monitor->local);
	translation_close(monitor->conntrack);
	cleanup_fd(&monitor->added);
	cleanup_fd(&monitor->endpoints);
	cleanup_fd(&monitor->segments);
	cleanup_fd(&monitor->learned);
	policy_free(monitor->now.policy);
	policy_free(monitor->before.policy);
	node_close(monitor->handle);
	free(monitor);
}

static void cleanup_monitor(struct monitor **monitor)
{
	monitor_close(*monitor);
}

/* A negative return value ends ring_buffer__consume(), which returns that value. */
static int take_event(void *context, void *event, size_t size)
{
	const struct monitor *monitor = context;

	(void)size;
	return monitor->visit(monitor->data, event) ? -ECANCELED : 0;
}

/* Opens the maps of endpoints anew: a load may have replaced them by larger ones. */
static void open_endpoints(struct monitor *monitor)
{
	cleanup_fd(&monitor->added);
	cleanup_fd(&monitor->endpoints);
	cleanup_fd(&monitor->segments);
	cleanup_fd(&monitor->learned);
	monitor->learned = pins_get(monitor->handle, "learned");
	monitor->segments = pins_get(monitor->handle, "segments");
	monitor->added = pins_get(monitor->handle, "added");
	monitor->endpoints = pins_get(monitor->handle, "endpoints");
}

/* Reads the active policy, if it changed since the last call. While a command is changing the
 * policy, the policy cannot be read; a later event tries again. */
static int read_policy(struct monitor *monitor)
{
	struct node_handle *handle = monitor->handle;
	uint32_t generation = node_generation(handle);
	int error = pinned_find(handle);

	if (error || !handle->policy)
		return error;
	open_endpoints(monitor);
	if (!monitor->now.policy || handle->blob.generation != monitor->now.since) {
		error = pinned_read(handle);
		if (error)
			return error;
		policy_free(monitor->before.policy);
		monitor->before = monitor->now;
		monitor->now.policy = pinned_take(handle);
		monitor->now.since = monitor->now.until = handle->blob.generation;
	}
	if (monitor->now.until < generation)
		monitor->now.until = generation;
	return 0;
}

/* Returns true if the policy's endpoint of this address is still active: `endpoint del` may have
 * deleted it. */
static bool is_active(const struct monitor *monitor, const struct address *address)
{
	struct bh_endpoint entry;

	return !bpf_map_lookup_elem(monitor->endpoints, address, &entry);
}

/* Returns as which ends the filter names this endpoint; 0: it does not. */
static uint8_t named_as(const struct monitor_filter *filter, const char *ns, const char *name)
{
	uint8_t as = 0;

	for (size_t i = 0; i < filter->n_ends; i++)
		if (!strcmp(filter->ends[i].ns, ns) &&
		    (!filter->ends[i].name || !strcmp(filter->ends[i].name, name)))
			as |= filter->ends[i].as;
	return as;
}

/* Adds an endpoint: events name it by its address and, at its own hooks, by its interface. */
static int add_end(const struct monitor *monitor, struct table *ends, const struct bh_addr *addr,
		   uint8_t as)
{
	struct bh_endpoint entry;
	struct bh_addr iface;
	int error = as ? table_add(ends, addr, &as) : 0;

	if (error || !as || bpf_map_lookup_elem(monitor->endpoints, addr, &entry) || !entry.ifindex)
		return error;
	iface = bh_end_iface(entry.ifindex);
	return table_add(ends, &iface, &as);
}

static int add_sides_of_policy(const struct monitor *monitor, struct table *ends)
{
	const struct policy *policy = monitor->now.policy;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		const struct policy_endpoint *endpoint = &policy->endpoints[address->endpoint];
		struct bh_addr addr;

		memcpy(&addr, &address->address, sizeof(addr));
		if (is_active(monitor, &address->address))
			error = add_end(
				monitor, ends, &addr,
				named_as(monitor->filter,
					 policy_string(policy,
						       policy->namespaces[endpoint->ns].name),
					 policy_string(policy, endpoint->name)));
	}
	return error;
}

static int add_ends_added(const struct monitor *monitor, struct table *ends)
{
	CLEANUP(table_free) struct table added = {};
	int error;

	table_init(&added, sizeof(struct bh_addr), sizeof(struct bh_added));
	error = table_read(&added, monitor->added);
	for (size_t i = 0; !error && i < added.n; i++) {
		const struct bh_added *entry = table_value(&added, i);

		error = add_end(monitor, ends, table_key(&added, i),
				named_as(monitor->filter, entry->ns, entry->name));
	}
	return error;
}

/* Joins the entries of one key: the flags of all of them count. */
static void merge_sides(struct table *ends)
{
	size_t n = 0;

	table_sort(ends);
	for (size_t i = 0; i < ends->n; i++) {
		uint8_t as = *(uint8_t *)table_value(ends, i);

		if (n && !memcmp(table_key(ends, n - 1), table_key(ends, i), ends->key_size)) {
			*(uint8_t *)table_value(ends, n - 1) |= as;
			continue;
		}
		memcpy(table_key(ends, n), table_key(ends, i), ends->key_size);
		*(uint8_t *)table_value(ends, n++) = as;
	}
	ends->n = n;
}

static int find_ends(const struct monitor *monitor, struct table *ends)
{
	int error;

	reader_ends_init(ends);
	error = add_sides_of_policy(monitor, ends);
	if (!error)
		error = add_ends_added(monitor, ends);
	if (!error)
		merge_sides(ends);
	return error;
}

static bool same_ends(const struct table *a, const struct table *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (memcmp(table_key(a, i), table_key(b, i), a->key_size) ||
		    *(uint8_t *)table_value(a, i) != *(uint8_t *)table_value(b, i))
			return false;
	return true;
}

/* Writes the filter's endpoints to the reader anew after each change: a name may now belong to
 * another endpoint, or to another address. */
static int follow_ends(struct monitor *monitor)
{
	CLEANUP(table_free) struct table ends = {};
	const uint32_t generation = node_generation(monitor->handle);
	int error;

	if (!monitor->filter->n_ends || generation == monitor->ends_at || !generation)
		return 0;
	error = read_policy(monitor);
	/* while a command changes the policy, none can be read: the next call tries again */
	if (error || !monitor->now.policy)
		return 0;
	error = find_ends(monitor, &ends);
	if (!error && !same_ends(&ends, &monitor->ends))
		error = reader_set_ends(monitor->reader, &ends);
	if (error)
		return error;
	table_free(&monitor->ends);
	monitor->ends = TAKE(ends, (struct table){});
	monitor->ends_at = generation;
	return 0;
}

/* Returns the filter with the ends that names ask for. */
static struct bh_filter kernel_filter(const struct monitor *monitor)
{
	struct bh_filter filter = monitor->filter->kernel;

	for (size_t i = 0; i < monitor->filter->n_ends; i++)
		filter.named |= monitor->filter->ends[i].as;
	return filter;
}

static int open_reader(struct monitor *monitor)
{
	const struct bh_filter filter = kernel_filter(monitor);

	monitor->lost = 0;
	return reader_open(monitor->handle, &filter, &monitor->ends, take_event, monitor,
			   &monitor->reader);
}

static int begin_to_read(struct monitor *monitor, bool past)
{
	int error = find_ends(monitor, &monitor->ends);
	uint64_t lost;

	if (!error && monitor->filter->n_ends && !monitor->ends.n)
		diag_warn(monitor->handle->diag, NULL, NULL,
			  "the filter names no endpoint that is active now");
	monitor->ends_at = node_generation(monitor->handle);
	if (error)
		return node_fail(monitor->handle, error, "cannot find the filter's endpoints");
	if (past)
		return 0;
	error = open_reader(monitor);
	if (error)
		return error;
	/* Events left out before now belong to an earlier reader. */
	error = monitor_left_out(monitor, NULL, NULL, &lost);
	return error ? node_fail(monitor->handle, error,
				 "cannot read %s/tallies: load puts a missing pin back",
				 monitor->handle->pin)
		     : 0;
}

/* @past: without a reader of new events. */
static int open_monitor(const char *pin, const struct monitor_filter *filter, bool past,
			struct diag *diag, struct monitor **monitor)
{
	static const struct monitor_filter all = {.kernel.reasons = {~0ull, ~0ull}};
	CLEANUP(cleanup_monitor) struct monitor *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	new->options.pin = pin;
	new->filter = filter ? filter : &all;
	new->added = new->endpoints = new->segments = new->learned = -1;
	table_init(&new->left_out, sizeof(uint32_t), sizeof(struct left_out));
	error = node_new(&new->options, diag, &new->handle);
	if (!error)
		error = node_find_config(new->handle);
	new->config = pins_map_id(new->handle, "config");
	if (!error)
		error = read_policy(new);
	if (!error && new->now.policy)
		error = begin_to_read(new, past);
	if (error)
		return error;
	*monitor = new->now.policy ? TAKE_PTR(new) : NULL;
	return 0;
}

int monitor_open(const char *pin, const struct monitor_filter *filter, struct diag *diag,
		 struct monitor **monitor)
{
	return open_monitor(pin, filter, false, diag, monitor);
}

int monitor_open_past(const char *pin, const struct monitor_filter *filter, struct diag *diag,
		      struct monitor **monitor)
{
	return open_monitor(pin, filter, true, diag, monitor);
}

int monitor_past(struct monitor *monitor, uint64_t since, uint64_t last,
		 int (*visit)(void *data, const struct bh_event *event), void *data)
{
	const struct bh_filter filter = kernel_filter(monitor);
	CLEANUP(past_free) struct past past = {};
	int error = past_read(monitor->handle, since, &past);
	size_t n = 0;

	for (size_t i = 0; !error && i < past.n; i++)
		if (event_filter_matches(&filter, &monitor->ends, &past.at[i].event))
			past.at[n++] = past.at[i];
	for (size_t i = n > last ? n - last : 0; !error && i < n; i++)
		if (visit(data, &past.at[i].event))
			break;
	return error;
}

int monitor_read(struct monitor *monitor, int (*visit)(void *data, const struct bh_event *event),
		 void *data)
{
	int error = follow_ends(monitor);

	if (error)
		return error;
	monitor->visit = visit;
	monitor->data = data;
	error = reader_consume(monitor->reader);
	if (error == -ESTALE) {
		diag_warn(monitor->handle->diag, NULL, NULL,
			  "monitor: suspended for so long that another has its place; the events "
			  "since are lost");
		reader_close(TAKE_PTR(monitor->reader));
		return open_reader(monitor);
	}
	return error < 0 && error != -ECANCELED ? error : 0;
}

static bool is_local(const void *none, const void *key, const void *value)
{
	(void)none;
	(void)key;
	return ((const struct bh_endpoint *)value)->ifindex;
}

/* Reads the addresses of this node's endpoints, once a generation. */
static int read_local(struct monitor *monitor)
{
	const uint32_t generation = node_generation(monitor->handle);

	if (monitor->local_at == generation)
		return 0;
	monitor->local_at = generation;
	table_free(&monitor->local);
	table_init(&monitor->local, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	return table_read_some(&monitor->local, monitor->endpoints, is_local, NULL);
}

/* Finds the endpoint of an interface by the endpoint's first address. */
static void name_of_iface(struct monitor *monitor, uint32_t ifindex, char name[MONITOR_NAME])
{
	*name = '\0';
	if (read_local(monitor))
		return;
	for (size_t i = 0; i < monitor->local.n; i++) {
		const struct bh_endpoint *entry = table_value(&monitor->local, i);
		struct address address;

		if (entry->ifindex != ifindex)
			continue;
		memcpy(&address, table_key(&monitor->local, i), sizeof(address));
		if (monitor_name(monitor, monitor->now.policy, &address, name))
			return;
		*name = '\0';
	}
}

/* The state of monitor_left_out() while tally_each() runs. */
struct event_lookup {
	struct monitor *monitor;
	int (*visit)(void *data, const struct monitor_left_out *left);
	void *data;
	struct table now;
};

static int look_at(void *data, const struct bh_tally_key *key, const struct bh_tally *sum)
{
	struct event_lookup *look = data;
	const uint32_t place = reader_place(look->monitor->reader);
	const struct left_out *before = table_find(&look->monitor->left_out, &key->ifindex);
	struct left_out now = {};
	int status = 0;

	for (int direction = BH_INGRESS; direction <= BH_EGRESS; direction++) {
		struct monitor_left_out left = {.ifindex = key->ifindex,
						.inward = direction == BH_INGRESS};

		now.events[direction] = sum->budget[direction][place].suppressed;
		left.events = now.events[direction] - (before ? before->events[direction] : 0);
		if (status || !look->visit || !left.events)
			continue;
		name_of_iface(look->monitor, key->ifindex, left.name);
		status = look->visit(look->data, &left);
	}
	return status ? status : table_add(&look->now, &key->ifindex, &now);
}

int monitor_left_out(struct monitor *monitor,
		     int (*visit)(void *data, const struct monitor_left_out *left), void *data,
		     uint64_t *lost)
{
	struct event_lookup look = {.monitor = monitor, .visit = visit, .data = data};
	uint64_t lost_now = reader_lost(monitor->reader);
	int error;

	*lost = lost_now - monitor->lost;
	monitor->lost = lost_now;
	table_init(&look.now, sizeof(uint32_t), sizeof(struct left_out));
	error = tally_each(monitor->handle, look_at, &look);
	if (error) {
		table_free(&look.now);
		return error;
	}
	table_sort(&look.now);
	table_free(&monitor->left_out);
	monitor->left_out = look.now;
	return 0;
}

bool monitor_is_live(const struct monitor *monitor)
{
	return node_generation(monitor->handle) && !monitor_is_replaced(monitor);
}

bool monitor_is_replaced(const struct monitor *monitor)
{
	const uint32_t pinned = pins_map_id(monitor->handle, "config");

	return pinned && pinned != monitor->config;
}

static bool has(const struct event_names *names, uint32_t generation)
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

bool monitor_name(const struct monitor *monitor, const struct policy *policy,
		  const struct address *address, char name[MONITOR_NAME])
{
	struct bh_added added;

	if (!bpf_map_lookup_elem(monitor->added, address, &added)) {
		snprintf(name, MONITOR_NAME, "%s/%s", added.ns, added.name);
		return *added.name;
	}
	return policy &&
	       ((is_active(monitor, address) && name_of_endpoint(policy, address, name)) ||
		name_of_node(policy, address, name));
}

/* Returns the policy's name that has this number in the maps; NULL: it has none. */
static const char *domain_text(const struct monitor *monitor, const struct policy *policy,
			       uint64_t domain)
{
	struct bh_domain unused;
	__u64 hash;

	for (size_t i = 0; i < policy->n_domains; i = policy_domain_next(policy, i)) {
		const char *text = policy_string(policy, policy->domains[i].name);

		if (!domains_hash(monitor->handle, text, &hash, &unused) && hash == domain)
			return text;
	}
	return NULL;
}

size_t monitor_domains(const struct monitor *monitor, const struct policy *policy,
		       const struct address *own, const struct address *other,
		       const char *names[BH_LEARNED_NAMES])
{
	struct bh_learned_key key = {};
	struct bh_learned learned;
	struct bh_endpoint entry;
	size_t n = 0;

	if (!policy || !policy->n_domains || bpf_map_lookup_elem(monitor->endpoints, own, &entry) ||
	    !entry.ifindex)
		return 0;
	memcpy(&key.addr, other, sizeof(key.addr));
	key.ifindex = entry.ifindex;
	if (bpf_map_lookup_elem(monitor->learned, &key, &learned) ||
	    domains_own(monitor->handle, &key, &learned))
		return 0;
	for (int i = 0; i < BH_LEARNED_NAMES; i++) {
		const char *text =
			learned.domain[i] ? domain_text(monitor, policy, learned.domain[i]) : NULL;

		if (text)
			names[n++] = text;
	}
	return n;
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

/* Returns the segment that an address has in the maps, for endpoints that came after the policy was
 * loaded; 0: none. */
static uint32_t segment_in_maps(const struct monitor *monitor, const struct address *address)
{
	const struct node_handle *handle = monitor->handle;
	struct bh_endpoint entry;
	struct bh_segment segment;
	uint32_t slot;

	if (bpf_map_lookup_elem(monitor->endpoints, address, &entry))
		return 0;
	slot = bh_assignment_slot(bh_assignment_at(entry.assignment[0], entry.assignment[1],
						   node_generation(handle)));
	return slot && !bpf_map_lookup_elem(monitor->segments, &slot, &segment)
		       ? segment.id ^ handle->blob.ids
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

/* Returns the segment that all backends of one IP version share; 0: the backends differ, or no
 * segment is known. */
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

/* As monitor_segment(), for the destination of an event's connection; if that is a Service, the
 * segment of the Service's backends. */
static uint32_t called_segment(const struct monitor *monitor, const struct policy *policy,
			       const struct bh_event *event)
{
	const struct tuple tuple = tuple_of(event);
	struct service_frontends found;

	if (policy && policy->n_frontends &&
	    service_find(policy, monitor->handle->blob.node, &tuple.destination, tuple.protocol,
			 ntohs(tuple.destination_port), &found) == SERVICE_FOUND)
		return segment_of_backends(policy, found.at, address_is_ipv4(&tuple.destination));
	return monitor_segment(monitor, policy, &tuple.destination);
}

struct decision monitor_decision(const struct monitor *monitor, const struct policy *policy,
				 const struct bh_event *event, enum direction direction)
{
	const bool reply = event->flags & BH_EVENT_REPLY;
	const uint32_t verdict = event->verdict[direction];
	struct decision said;
	struct address caller;

	if (!verdict)
		return (struct decision){.subject = false};
	memcpy(&caller, reply ? &event->destination : &event->source, sizeof(caller));
	said = decision_of(policy, verdict);
	decision_blame(&said, policy,
		       direction == INGRESS ? called_segment(monitor, policy, event)
					    : monitor_segment(monitor, policy, &caller),
		       direction);
	return said;
}
