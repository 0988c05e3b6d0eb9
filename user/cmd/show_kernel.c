/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules, generation, connections and counters: what the maps in force add to the policy. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/flow.h"
#include "cmd/json.h"
#include "cmd/show.h"
#include "cmd/trace_service.h"
#include "maps/conntrack.h"
#include "maps/counter.h"
#include "maps/rule_hit.h"
#include "node/connections.h"
#include "node/translated.h"

/* Hits by rule ID, summed over the CPUs. */
struct hits {
	uint64_t *counts;
	size_t n;
};

static int add_hits(void *data, const void *key, const void *value)
{
	const struct bh_rule_hit *hit = value;
	struct hits *hits = data;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	for (int cpu = 0; id < hits->n && cpu < live_cpus(); cpu++)
		hits->counts[id] += hit[cpu].count;
	return 0;
}

static const char *const actions[] = {
	[ACTION_ALLOW] = "allow",
	[ACTION_DENY] = "deny",
	[ACTION_PASS] = "pass",
};

static struct json_object *json_rule(const struct view *view, const struct policy_rule *rule,
				     const struct hits *hits)
{
	struct json_object *object = json_object_new_object();

	json_add_number(object, "id", rule->id);
	json_add_text(object, "tier", tier_name(rule->tier));
	json_add_text(object, "direction", rule->direction == INGRESS ? "ingress" : "egress");
	json_add_text(object, "action", actions[rule->action]);
	json_add_rule(object, view->policy, rule);
	if (hits->counts)
		json_add_number(object, "hits", hits->counts[rule->id]);
	return object;
}

static void print_rule(const struct view *view, const struct policy_rule *rule,
		       const struct hits *hits)
{
	char text[DECISION_TEXT];

	printf("%6u  %-14s %-7s %-5s ", rule->id, tier_name(rule->tier),
	       rule->direction == INGRESS ? "ingress" : "egress", actions[rule->action]);
	if (hits->counts)
		printf("%12" PRIu64 "  ", hits->counts[rule->id]);
	puts(rule_print(view->policy, rule, text, sizeof(text)));
}

static struct json_object *json_isolation(const struct policy *policy,
					  const struct policy_isolation *isolation)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "policy", policy_string(policy, isolation->policy));
	json_add_bool(object, "ingress", isolation->directions >> INGRESS & 1);
	json_add_bool(object, "egress", isolation->directions >> EGRESS & 1);
	return object;
}

/* Isolation as one more rule, of ID 0: the kernel counts it as such. */
static struct json_object *json_isolations(const struct policy *policy, const struct hits *hits)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();

	json_add_number(object, "id", 0);
	json_add_text(object, "tier", tier_name(TIER_NETWORK_POLICY));
	json_add_text(object, "direction", NULL);
	json_add_text(object, "action", actions[ACTION_DENY]);
	json_add_rule(object, policy, NULL);
	for (size_t i = 0; i < policy->n_isolations; i++)
		json_object_array_add(array, json_isolation(policy, &policy->isolations[i]));
	json_add(object, "isolated_by", array);
	if (hits->counts)
		json_add_number(object, "hits", hits->counts[0]);
	return object;
}

static void print_isolations(const struct policy *policy, const struct hits *hits)
{
	static const char *const directions[] = {
		[1 << INGRESS] = "ingress",
		[1 << EGRESS] = "egress",
		[1 << INGRESS | 1 << EGRESS] = "both",
	};
	char text[DECISION_TEXT];

	printf("%6u  %-14s %-7s %-5s ", 0, tier_name(TIER_NETWORK_POLICY), "",
	       actions[ACTION_DENY]);
	if (hits->counts)
		printf("%12" PRIu64 "  ", hits->counts[0]);
	puts("isolation: no rule allows");
	for (size_t i = 0; i < policy->n_isolations; i++)
		printf("%22s  %-7s isolated by %s\n", "",
		       directions[policy->isolations[i].directions],
		       name_print(policy_string(policy, policy->isolations[i].policy), text,
				  sizeof(text)));
}

static void show_isolations(struct json_object *array, const struct policy *policy,
			    const struct hits *hits, bool json)
{
	if (!policy->n_isolations)
		return;
	if (json)
		json_object_array_add(array, json_isolations(policy, hits));
	else
		print_isolations(policy, hits);
}

int show_rules(const struct call *call, const struct view *view)
{
	struct json_object *array = json_object_new_array();
	struct hits hits = {.n = view->policy->next_rule};
	int error = 0;

	if (view->live) {
		hits.counts = calloc(hits.n, sizeof(*hits.counts));
		error = hits.counts ? live_each(view->live, "rule_hits", add_hits, &hits) : -ENOMEM;
	}
	if (!error)
		show_isolations(array, view->policy, &hits, call->json);
	for (size_t i = 0; i < view->policy->n_rules && !error; i++) {
		if (call->json)
			json_object_array_add(array,
					      json_rule(view, &view->policy->rules[i], &hits));
		else
			print_rule(view, &view->policy->rules[i], &hits);
	}
	if (error)
		command_error("cannot read the rules' hits: %s", strerror(-error));
	if (call->json && !error)
		json_print(json_object_get(array), call->pretty);
	json_object_put(array);
	free(hits.counts);
	return status_of(error);
}

int show_generation(const struct call *call, const struct view *view)
{
	const struct policy *policy = view->policy;
	struct json_object *object;

	if (!call->json) {
		printf("policy generation %u of lineage %016" PRIx64 "\n", policy->generation,
		       policy->lineage);
		if (view->live)
			printf("in force as generation %" PRIu64 "\n", live_generation(view->live));
		return STATUS_OK;
	}
	object = json_object_new_object();
	json_add_number(object, "policy_generation", policy->generation);
	json_add_number(object, "lineage", policy->lineage);
	json_add_number(object, "parent", policy->parent);
	if (policy->checksum) /* of a file, or of what is stored */
		json_add_number(object, "checksum", policy->checksum);
	if (view->live)
		json_add_number(object, "generation", live_generation(view->live));
	json_print(object, call->pretty);
	return STATUS_OK;
}

/* What is shown of a map's entries as they come. */
struct listing {
	struct json_object *array; /* NULL: print them */
	const struct policy *policy; /* names Services and their backends */
	const struct translations *translations;
};

static struct bh_counter sum_counters(const struct bh_counter *counters)
{
	struct bh_counter sum = {0};

	for (int cpu = 0; cpu < live_cpus(); cpu++) {
		sum.packets += counters[cpu].packets;
		sum.bytes += counters[cpu].bytes;
		sum.audit_packets += counters[cpu].audit_packets;
		sum.audit_bytes += counters[cpu].audit_bytes;
	}
	return sum;
}

static struct json_object *json_counter(uint32_t reason, const char *text,
					const struct bh_counter *counter)
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
	struct bh_counter sum = sum_counters(value);
	const struct listing *listing = data;
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

/* Either version's key in one form; ports in host byte order. */
struct connection {
	struct address address[2];
	uint16_t port[2];
	uint8_t protocol;
};

static struct connection connection_of(const struct bh_ct_key *key)
{
	struct connection connection = {.protocol = key->protocol};

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

/* The Service that a connection is opened by, and the backend that the node has translated it to;
 * NULL: none. */
struct by_service {
	const struct policy_service *service;
	struct tuple backend;
};

static struct by_service service_of(const struct listing *listing,
				    const struct connection *connection, int from)
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

/* "namespace/name", or the address. */
static const char *backend_text(const struct policy *policy, const struct tuple *backend,
				char text[FLOW_TEXT])
{
	const struct policy_backend record = {.address = backend->destination};

	return backend->protocol ? backend_name(policy, &record, text) : NULL;
}

static void print_service(const struct listing *listing, const struct by_service *by)
{
	char service[SERVICE_NAME_TEXT], backend[FLOW_TEXT];

	if (!by->service)
		return;
	printf(" by service %s", service_name(listing->policy, by->service, service));
	if (backend_text(listing->policy, &by->backend, backend))
		printf(" to %s", backend);
}

static void json_add_service(struct json_object *object, const struct listing *listing,
			     const struct by_service *by)
{
	char service[SERVICE_NAME_TEXT], backend[FLOW_TEXT];

	json_add_text(object, "service",
		      by->service ? service_name(listing->policy, by->service, service) : NULL);
	json_add_text(object, "backend",
		      by->service ? backend_text(listing->policy, &by->backend, backend) : NULL);
}

static int show_connection(const struct listing *listing, const struct connection *connection,
			   const struct bh_ct *ct)
{
	const __u64 *words = ct->verdict;
	__u64 judged = words[BH_EGRESS] ? words[BH_EGRESS] : words[BH_INGRESS];
	int from = !!(judged & BH_CT_INITIATOR);
	struct by_service by = service_of(listing, connection, from);
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], port[FLOW_TEXT];
	struct flow flow = {.protocol = connection->protocol};
	struct json_object *object;

	flow.port = connection->port[!from];
	address_print(&connection->address[from], source);
	address_print(&connection->address[!from], destination);
	port_print(&flow, port);
	if (!listing->array) {
		printf("%-40s %-40s %-12s %-12s egress %-5s ingress %s", source, destination, port,
		       state_text(ct), word_text(words[BH_EGRESS]), word_text(words[BH_INGRESS]));
		print_service(listing, &by);
		putchar('\n');
		return 0;
	}
	object = json_object_new_object();
	json_add_text(object, "source", source);
	json_add_number(object, "source_port", connection->port[from]);
	json_add_text(object, "destination", destination);
	json_add_text(object, "port", port);
	json_add_service(object, listing, &by);
	json_add_text(object, "state", state_text(ct));
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const char *name = d == INGRESS ? "ingress" : "egress";

		json_add_text(object, name, words[d] ? word_text(words[d]) : NULL);
	}
	json_add_number(object, "generation", bh_ct_generation(judged));
	json_object_array_add(listing->array, object);
	return 0;
}

static int show_slot(void *data, const struct bh_ct_key *key, const struct bh_ct *ct)
{
	struct connection connection = connection_of(key);

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

static int show_maps(const struct call *call, const struct view *view, const struct map_view *maps,
		     size_t n, const struct translations *translations)
{
	struct listing listing = {.array = call->json ? json_object_new_array() : NULL,
				  .policy = view->policy,
				  .translations = translations};
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		error = live_each(view->live, maps[i].map, maps[i].visit, &listing);
		if (error)
			command_error("cannot read the map %s: %s", maps[i].map, strerror(-error));
	}
	if (listing.array && !error)
		json_print(json_object_get(listing.array), call->pretty);
	json_object_put(listing.array);
	return status_of(error);
}

int show_counters(const struct call *call, const struct view *view)
{
	static const struct map_view counters = {"counters", show_counter};

	return show_maps(call, view, &counters, 1, NULL);
}

int show_conntrack(const struct call *call, const struct view *view)
{
	static const struct map_view table = {"ct", show_bucket};

	struct translations translations = {0};
	int error = view->policy->n_frontends ? translations_read(&translations) : 0;

	if (error)
		return status_of(error);
	error = show_maps(call, view, &table, 1, &translations);
	translations_free(&translations);
	return error;
}
