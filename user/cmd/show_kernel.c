/* SPDX-License-Identifier: GPL-2.0-only */
/* `show conntrack` and `show counters`, which only the maps have. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/screen.h"
#include "cmd/show.h"
#include "cmd/trace_service.h"
#include "maps/conntrack.h"
#include "maps/counter.h"
#include "node/kernel/connections.h"
#include "node/kernel/translated.h"

/* The state of a walk that prints a map's entries. */
struct connection_listing {
	struct json_object *array; /* collects the entries; NULL: each is printed as text */
	const struct show *show;
	const struct policy *policy; /* has the names of ends, Services and backends */
	const struct translations *translations;
};

/* The packets of one reason, summed over all CPUs, by direction. */
struct sum {
	uint64_t packets, bytes, audit_packets, audit_bytes;
};

static struct sum sum_counters(const struct bh_counter *counters)
{
	struct sum sum = {0};

	for (int i = 0; i < 2 * live_cpus(); i++) {
		const struct bh_counter *counter = &counters[i / 2];

		sum.packets += counter->packets[i % 2];
		sum.bytes += counter->bytes[i % 2];
		sum.audit_packets += counter->audit_packets[i % 2];
		sum.audit_bytes += counter->audit_bytes[i % 2];
	}
	return sum;
}

static struct json_object *json_counter(uint32_t reason, const char *text,
					const struct sum *counter)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "reason", text);
	json_add_bool(object, "drop", bh_reason_drops(reason));
	json_add_number(object, "packets", counter->packets);
	json_add_number(object, "bytes", counter->bytes);
	json_add_number(object, "audit_packets", counter->audit_packets);
	json_add_number(object, "audit_bytes", counter->audit_bytes);
	return object;
}

static void print_counter(const char *verdict, uint64_t packets, uint64_t bytes, const char *text)
{
	printf("%-5s %12" PRIu64 " packets %15" PRIu64 " bytes  %s\n", verdict, packets, bytes,
	       text);
}

static int show_counter(void *data, const void *key, const void *value)
{
	static const char *const texts[] = BH_REASON_TEXTS;
	struct sum sum = sum_counters(value);
	const struct connection_listing *listing = data;
	uint32_t reason;

	memcpy(&reason, key, sizeof(reason));
	if (reason >= BH_REASONS)
		return 0;
	if (listing->array) {
		json_object_array_add(listing->array, json_counter(reason, texts[reason], &sum));
		return 0;
	}
	print_counter(bh_reason_drops(reason) ? "drop" : "pass", sum.packets, sum.bytes,
		      texts[reason]);
	if (sum.audit_packets)
		print_counter("audit", sum.audit_packets, sum.audit_bytes, texts[reason]);
	return 0;
}

#define END_TEXT (FLOW_TEXT + ADDRESS_TEXT + 32)

/* A connection of either IP version; ports in host byte order. */
struct shown_connection {
	struct address address[2];
	uint16_t port[2];
	uint8_t protocol;
};

static struct shown_connection connection_of(const struct bh_ct_key *key)
{
	struct shown_connection connection = {.protocol = key->protocol};

	for (int end = 0; end < 2; end++) {
		memcpy(&connection.address[end], key->addr[end], 16);
		connection.port[end] = ntohs(key->port[end]);
	}
	return connection;
}

static const char *state_text(const struct bh_ct *ct)
{
	if (ct->state & BH_CT_DENIED)
		return "denied";
	if (ct->state & BH_CT_HALF)
		return ct->state & BH_CT_ANSWERED ? "answered" : "opening";
	if (ct->state & BH_CT_ONCE)
		return "answered once";
	if (ct->state & (BH_CT_FINS | BH_CT_RST))
		return "closing";
	return "established";
}

static const char *word_text(uint64_t word)
{
	if (!word)
		return "-";
	return word & BH_CT_ALLOW ? "allow" : "deny";
}

/* The Service that the client called, and the backend that the node chose; NULL: none. */
struct by_service {
	const struct policy_service *service;
	struct tuple backend;
};

static struct by_service service_of(const struct connection_listing *listing,
				    const struct shown_connection *connection, int from)
{
	struct tuple tuple = {.source = connection->address[from],
			      .destination = connection->address[!from],
			      .source_port = htons(connection->port[from]),
			      .destination_port = htons(connection->port[!from]),
			      .protocol = connection->protocol};
	struct by_service by = {.service = NULL};
	const struct translation *found = translations_before(listing->translations, &tuple);

	if (!found)
		found = translations_after(listing->translations, &tuple);
	if (found)
		tuple = found->before;
	by.service = service_called(listing->policy, &tuple.destination, tuple.protocol,
				    ntohs(tuple.destination_port));
	if (found)
		by.backend = found->after;
	return by;
}

/* Returns "namespace/name" of the endpoint, or the address. */
static const char *backend_text(const struct policy *policy, const struct tuple *backend,
				char text[FLOW_TEXT])
{
	const struct policy_backend record = {.address = backend->destination};

	return backend->protocol ? backend_name(policy, &record, text) : NULL;
}

static void print_service(const struct connection_listing *listing, const struct by_service *by)
{
	char service[SERVICE_NAME_TEXT], backend[FLOW_TEXT];

	if (!by->service)
		return;
	printf(" by service %s", service_name(listing->policy, by->service, service));
	if (backend_text(listing->policy, &by->backend, backend))
		printf(" to %s", backend);
}

static void json_add_service(struct json_object *object, const struct connection_listing *listing,
			     const struct by_service *by)
{
	char service[SERVICE_NAME_TEXT], backend[FLOW_TEXT];

	json_add_text(object, "service",
		      by->service ? service_name(listing->policy, by->service, service) : NULL);
	json_add_text(object, "backend",
		      by->service ? backend_text(listing->policy, &by->backend, backend) : NULL);
}

/* Returns the address together with the endpoint, node or class that has it. */
struct flow_side show_side_at(const struct policy *policy, const struct address *address,
			      char name[FLOW_TEXT])
{
	const struct policy_address *found = policy_address_find(policy, address);
	const struct policy_endpoint *endpoint = found ? &policy->endpoints[found->endpoint] : NULL;
	struct flow_side side = {.name = name};

	*name = '\0';
	if (endpoint)
		snprintf(name, FLOW_TEXT, "%.63s/%.180s",
			 policy_string(policy, policy->namespaces[endpoint->ns].name),
			 policy_string(policy, endpoint->name));
	side_add(&side, address);
	return side;
}

static bool is_meant(const struct connection_listing *listing,
		     const struct shown_connection *connection, int from)
{
	const struct filter *filter = listing->show->filter;
	char names[2][FLOW_TEXT];
	struct flow_side source =
		show_side_at(listing->policy, &connection->address[from], names[0]);
	struct flow_side destination =
		show_side_at(listing->policy, &connection->address[!from], names[1]);
	bool port = !filter->n_ports;

	for (size_t i = 0; i < filter->n_ports && !port; i++)
		port = filter->ports[i].protocol == connection->protocol &&
		       filter->ports[i].port == connection->port[!from];
	return port && filter_matches(filter->from, &source) &&
	       filter_matches(filter->to, &destination) &&
	       (filter_in_namespace(filter->ns, &source) ||
		filter_in_namespace(filter->ns, &destination));
}

/* Prints an end, "shop/db (10.244.0.1:80)"; @port 0 leaves the port out. */
static const char *end_text(const struct flow_side *side, const struct address *address,
			    uint16_t port, char text[END_TEXT])
{
	const bool named = strchr(side->name, '/') != NULL;
	char printed[ADDRESS_TEXT], at[ADDRESS_TEXT + 16];

	address_print(address, printed);
	if (!port)
		snprintf(at, sizeof(at), "%s", printed);
	else if (address_is_ipv4(address))
		snprintf(at, sizeof(at), "%s:%u", printed, port);
	else
		snprintf(at, sizeof(at), "[%s]:%u", printed, port);
	snprintf(text, END_TEXT, named ? "%s (%s)" : "%.0s%s", side->name, at);
	return text;
}

static void print_connection(const struct connection_listing *listing,
			     const struct shown_connection *connection, int from, const char *port,
			     const struct bh_ct *ct)
{
	char names[2][FLOW_TEXT], source[END_TEXT], destination[END_TEXT];
	const struct flow_side sides[] = {
		show_side_at(listing->policy, &connection->address[from], names[0]),
		show_side_at(listing->policy, &connection->address[!from], names[1])};

	printf("%-44s %-32s %-10s %-12s egress %-5s ingress %s",
	       end_text(&sides[0], &connection->address[from], connection->port[from], source),
	       end_text(&sides[1], &connection->address[!from], 0, destination), port,
	       state_text(ct), word_text(ct->verdict[BH_EGRESS]),
	       word_text(ct->verdict[BH_INGRESS]));
}

static void json_add_name(struct json_object *object, const char *key,
			  const struct connection_listing *listing, const struct address *address)
{
	char name[FLOW_TEXT];

	show_side_at(listing->policy, address, name);
	json_add_text(object, key, *name ? name : NULL);
}

static int show_connection(const struct connection_listing *listing,
			   const struct shown_connection *connection, const struct bh_ct *ct)
{
	const __u64 *words = ct->verdict;
	__u64 evaluated = words[BH_EGRESS] ? words[BH_EGRESS] : words[BH_INGRESS];
	int from = !!(evaluated & BH_CT_INITIATOR);
	struct by_service by = service_of(listing, connection, from);
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], port[FLOW_TEXT];
	struct flow flow = {.protocol = connection->protocol};
	struct json_object *object;

	if (!is_meant(listing, connection, from))
		return 0;
	flow.port = connection->port[!from];
	address_print(&connection->address[from], source);
	address_print(&connection->address[!from], destination);
	port_print(&flow, port);
	if (!listing->array) {
		print_connection(listing, connection, from, port, ct);
		print_service(listing, &by);
		putchar('\n');
		return 0;
	}
	object = json_object_new_object();
	json_add_text(object, "source", source);
	json_add_name(object, "source_name", listing, &connection->address[from]);
	json_add_number(object, "source_port", connection->port[from]);
	json_add_text(object, "destination", destination);
	json_add_name(object, "destination_name", listing, &connection->address[!from]);
	json_add_text(object, "port", port);
	json_add_service(object, listing, &by);
	json_add_text(object, "state", state_text(ct));
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const char *name = d == INGRESS ? "ingress" : "egress";

		json_add_text(object, name, words[d] ? word_text(words[d]) : NULL);
	}
	json_add_number(object, "generation", bh_ct_generation(evaluated));
	json_object_array_add(listing->array, object);
	return 0;
}

static int show_slot(void *data, const struct bh_ct_key *key, const struct bh_ct *ct)
{
	struct shown_connection connection = connection_of(key);

	return show_connection(data, &connection, ct);
}

static int show_bucket(void *data, const void *key, const void *value)
{
	(void)key;
	return connections_each(value, show_slot, data);
}

struct map_view {
	const char *map;
	int (*visit)(void *data, const void *key, const void *value);
};

static int show_maps(const struct show *show, const struct map_view *maps, size_t n,
		     const struct translations *translations)
{
	const struct call *call = show->call;
	struct connection_listing listing = {.array = call->json ? json_object_new_array() : NULL,
					     .show = show,
					     .policy = show->policy,
					     .translations = translations};
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		error = live_each(show->view->live, maps[i].map, maps[i].visit, &listing);
		if (error)
			command_error("cannot read the map %s: %s", maps[i].map, strerror(-error));
	}
	if (listing.array && !error)
		json_print(json_object_get(listing.array), call->pretty);
	json_object_put(listing.array);
	return status_of(error);
}

int show_counters(const struct show *show)
{
	static const struct map_view counters = {"counters", show_counter};

	return show_maps(show, &counters, 1, NULL);
}

int show_conntrack(const struct show *show)
{
	static const struct map_view table = {"ct", show_bucket};

	struct translations translations = {0};
	int error = show->policy->n_frontends ? translations_read(&translations) : 0;

	if (error)
		return status_of(error);
	if (!show->call->json)
		printf("%s%-44s %-32s %-10s %-12s VERDICTS%s\n", paint_on(PAINT_BOLD), "FROM", "TO",
		       "PORT", "STATE", paint_off());
	error = show_maps(show, &table, 1, &translations);
	translations_free(&translations);
	return error;
}
