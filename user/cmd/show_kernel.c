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
#include "node/kernel/translations.h"

/* The state of a walk that prints a map's entries. */
struct connection_listing {
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

static void say_counter(struct emit *emit, const char *verdict, uint64_t packets, uint64_t bytes,
			const char *text)
{
	emit_say(emit, "%-5s %12" PRIu64 " packets %15" PRIu64 " bytes  %s\n", verdict, packets,
		 bytes, text);
}

static int show_counter(void *data, const void *key, const void *value)
{
	static const char *const texts[] = BH_REASON_TEXTS;
	struct sum sum = sum_counters(value);
	const struct connection_listing *listing = data;
	struct emit *emit = listing->show->emit;
	uint32_t reason;

	memcpy(&reason, key, sizeof(reason));
	if (reason >= BH_REASONS)
		return 0;
	say_counter(emit, bh_reason_drops(reason) ? "drop" : "pass", sum.packets, sum.bytes,
		    texts[reason]);
	if (sum.audit_packets)
		say_counter(emit, "audit", sum.audit_packets, sum.audit_bytes, texts[reason]);
	emit_object(emit, NULL);
	emit_text(emit, "reason", texts[reason]);
	emit_bool(emit, "drop", bh_reason_drops(reason));
	emit_number(emit, "packets", sum.packets);
	emit_number(emit, "bytes", sum.bytes);
	emit_number(emit, "audit_packets", sum.audit_packets);
	emit_number(emit, "audit_bytes", sum.audit_bytes);
	emit_end(emit);
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
	return verdict_name(word & BH_CT_ALLOW);
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

static bool is_meant(const struct filter *filter, const struct shown_connection *connection,
		     const struct flow_side sides[2], uint16_t to)
{
	return filter_has_port(filter, connection->protocol, to) &&
	       filter_matches(filter->from, &sides[0]) && filter_matches(filter->to, &sides[1]) &&
	       (filter_in_namespace(filter->ns, &sides[0]) ||
		filter_in_namespace(filter->ns, &sides[1]));
}

static const char *end_text(const char *name, const struct address *address, uint16_t port,
			    char text[END_TEXT])
{
	char printed[ADDRESS_TEXT], at[ADDRESS_TEXT + 16];

	address_print(address, printed);
	if (!port)
		snprintf(at, sizeof(at), "%s", printed);
	else if (address_is_ipv4(address))
		snprintf(at, sizeof(at), "%s:%u", printed, port);
	else
		snprintf(at, sizeof(at), "[%s]:%u", printed, port);
	snprintf(text, END_TEXT, *name ? "%s (%s)" : "%.0s%s", name, at);
	return text;
}

static void emit_service(struct emit *emit, const struct policy *policy,
			 const struct by_service *by)
{
	const struct policy_backend record = {.address = by->backend.destination};
	const char *service = NULL, *backend = NULL;
	char texts[2][SERVICE_NAME_TEXT > FLOW_TEXT ? SERVICE_NAME_TEXT : FLOW_TEXT];

	if (by->service) {
		service = service_name(policy, by->service, texts[0]);
		emit_say(emit, " by service %s", service);
	}
	if (by->service && by->backend.protocol) {
		backend = backend_name(policy, &record, texts[1]);
		emit_say(emit, " to %s", backend);
	}
	emit_text(emit, "service", service);
	emit_text(emit, "backend", backend);
}

static int show_connection(const struct connection_listing *listing,
			   const struct shown_connection *connection, const struct bh_ct *ct)
{
	const __u64 *words = ct->verdict;
	__u64 evaluated = words[BH_EGRESS] ? words[BH_EGRESS] : words[BH_INGRESS];
	const int from = !!(evaluated & BH_CT_INITIATOR);
	const struct address *source = &connection->address[from];
	const struct address *destination = &connection->address[!from];
	const uint16_t ports[] = {connection->port[from], connection->port[!from]};
	const struct flow flow = {.protocol = connection->protocol, .port = ports[1]};
	struct by_service by = service_of(listing, connection, from);
	char names[2][FLOW_TEXT], ends[2][END_TEXT], port[FLOW_TEXT], text[ADDRESS_TEXT];
	const struct flow_side sides[] = {show_side_at(listing->policy, source, names[0]),
					  show_side_at(listing->policy, destination, names[1])};
	struct emit *emit = listing->show->emit;

	if (!is_meant(listing->show->filter, connection, sides, ports[1]))
		return 0;
	emit_say(emit, "%-44s %-32s %-10s %-12s egress %-5s ingress %s",
		 end_text(names[0], source, ports[0], ends[0]),
		 end_text(names[1], destination, 0, ends[1]), port_print(&flow, port),
		 state_text(ct), word_text(words[BH_EGRESS]), word_text(words[BH_INGRESS]));
	emit_object(emit, NULL);
	emit_text(emit, "source", address_print(source, text));
	emit_name(emit, "source_name", names[0]);
	emit_number(emit, "source_port", ports[0]);
	emit_text(emit, "destination", address_print(destination, text));
	emit_name(emit, "destination_name", names[1]);
	emit_text(emit, "port", port);
	emit_service(emit, listing->policy, &by);
	emit_text(emit, "state", state_text(ct));
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		emit_text(emit, direction_name(d), words[d] ? word_text(words[d]) : NULL);
	emit_number(emit, "generation", bh_ct_generation(evaluated));
	emit_end(emit);
	emit_say(emit, "\n");
	return 0;
}

static int show_slot(void *data, const struct bh_ct_key *key, const struct bh_ct *ct)
{
	struct shown_connection connection = connection_of(key);

	return show_connection(data, &connection, ct);
}

static int show_group(void *data, const void *key, const void *value)
{
	(void)key;
	return connections_each(value, show_slot, data);
}

static int show_map(const struct show *show, const char *map,
		    int (*visit)(void *data, const void *key, const void *value),
		    const struct translations *translations)
{
	struct connection_listing listing = {
		.show = show, .policy = show->policy, .translations = translations};
	int error;

	emit_array(show->emit, NULL);
	error = live_each(show->view->live, map, visit, &listing);
	if (error)
		command_error("cannot read the map %s: %s", map, strerror(-error));
	else
		emit_end(show->emit);
	return status_of(error);
}

int show_counters(const struct show *show)
{
	return show_map(show, "counters", show_counter, NULL);
}

int show_conntrack(const struct show *show)
{
	struct translations translations = {0};
	int error = show->policy->n_frontends ? translations_read(&translations) : 0;

	if (error)
		return status_of(error);
	emit_say(show->emit, "%s%-44s %-32s %-10s %-12s VERDICTS%s\n", paint_on(PAINT_BOLD), "FROM",
		 "TO", "PORT", "STATE", paint_off());
	error = show_map(show, "ct", show_group, &translations);
	translations_free(&translations);
	return error;
}
