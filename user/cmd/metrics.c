// SPDX-License-Identifier: GPL-2.0-only
/*
 * `bulkhead metrics`: prints the node's counters in Prometheus' text format, or writes them to
 * the file that node_exporter's textfile collector reads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/metrics.h"
#include "cmd/output.h"
#include "cmd/text_buffer.h"
#include "cmd/metrics_cni.h"
#include "cmd/reason.h"
#include "policy/evaluate.h"
#include "maps/counter.h"
#include "maps/iface.h"
#include "maps/rule_hit.h"
#include "version.h"

/* Default of --policies and --namespaces: so many policies and namespaces have series of their own.
 * "(others)" is the sum of the rest, and falls when one of them gets a series: a command keeps
 * nothing from one call to the next. The sum over all series stays. */
#define SERIES 100

static void gauge(const struct metrics *metrics, const char *name, const char *help, uint64_t value)
{
	metrics_single(metrics, name, "gauge", help, value);
}

static void put_count(FILE *to, const char *name, enum bh_reason reason, const char *verdict,
		      const __u64 values[2])
{
	char text[REASON_NAME];

	for (int d = BH_INGRESS; d <= BH_EGRESS; d++) {
		fprintf(to, "bulkhead_%s{verdict=\"%s\",reason=\"%s\",direction=\"%s\"} %llu\n",
			name, verdict, reason_name(reason, text), direction_name(d), values[d]);
	}
}

struct counters {
	struct bh_counter by_reason[BH_REASONS];
};

static int add_counter(void *data, const void *key, const void *value)
{
	struct counters *counters = data;
	const struct bh_counter *counter = value;
	uint32_t reason;

	memcpy(&reason, key, sizeof(reason));
	for (int i = 0; reason < BH_REASONS && i < 2 * live_cpus(); i++) {
		struct bh_counter *sum = &counters->by_reason[reason];
		const struct bh_counter *at = &counter[i / 2];

		sum->packets[i % 2] += at->packets[i % 2];
		sum->bytes[i % 2] += at->bytes[i % 2];
		sum->audit_packets[i % 2] += at->audit_packets[i % 2];
		sum->audit_bytes[i % 2] += at->audit_bytes[i % 2];
	}
	return 0;
}

static void put_counters(const struct metrics *metrics, const struct counters *counters, bool bytes)
{
	const char *name = bytes ? "bytes_total" : "packets_total";

	metrics_family(metrics, name, "counter",
		       bytes ? "Bytes of the frames that the hooks evaluated."
			     : "Packets that the hooks evaluated, each once.");
	for (enum bh_reason reason = 0; reason < BH_REASONS; reason++) {
		const struct bh_counter *counter = &counters->by_reason[reason];

		put_count(metrics->to, name, reason, bh_reason_drops(reason) ? "drop" : "pass",
			  bytes ? counter->bytes : counter->packets);
		if (bh_reason_drops(reason))
			put_count(metrics->to, name, reason, "audit",
				  bytes ? counter->audit_bytes : counter->audit_packets);
	}
}

static int report_counters(const struct metrics *metrics)
{
	struct counters counters = {0};
	int error = live_each(metrics->live, "counters", add_counter, &counters);

	if (error)
		return error;
	put_counters(metrics, &counters, false);
	put_counters(metrics, &counters, true);
	return 0;
}

/* How often the rules of one policy, direction and action decided. */
struct policy_hits {
	const char *policy;
	uint8_t direction, action;
	uint64_t hits;
};

struct hits {
	const struct policy *policy;
	struct policy_hits *at; /* sorted by name, direction, action */
	size_t n;
	size_t *by_rule; /* index in `at`, by index of policy->rules */
};

static int compare_names(const void *a, const void *b)
{
	const struct policy_hits *first = a, *second = b;
	int order = strcmp(first->policy, second->policy);

	if (!order)
		order = first->direction - second->direction;
	return order ? order : first->action - second->action;
}

static int compare_hits(const void *a, const void *b)
{
	const struct policy_hits *first = a, *second = b;

	if (first->hits != second->hits)
		return first->hits > second->hits ? -1 : 1;
	return compare_names(a, b);
}

static struct policy_hits hits_of_rule(const struct policy *policy, const struct policy_rule *rule)
{
	return (struct policy_hits){policy_string(policy, rule->policy), rule->direction,
				    rule->action, 0};
}

static int list_policies(struct hits *hits)
{
	const struct policy *policy = hits->policy;

	hits->at = calloc(policy->n_rules + 1, sizeof(*hits->at));
	hits->by_rule = calloc(policy->n_rules + 1, sizeof(*hits->by_rule));
	if (!hits->at || !hits->by_rule)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_rules; i++)
		hits->at[i] = hits_of_rule(policy, &policy->rules[i]);
	qsort(hits->at, policy->n_rules, sizeof(*hits->at), compare_names);
	for (size_t i = 0; i < policy->n_rules; i++)
		if (!i || compare_names(&hits->at[hits->n - 1], &hits->at[i]))
			hits->at[hits->n++] = hits->at[i];
	for (size_t i = 0; i < policy->n_rules; i++) {
		struct policy_hits key = hits_of_rule(policy, &policy->rules[i]);
		const struct policy_hits *found =
			bsearch(&key, hits->at, hits->n, sizeof(key), compare_names);

		hits->by_rule[i] = found - hits->at;
	}
	return 0;
}

static int add_hits(void *data, const void *key, const void *value)
{
	const struct bh_rule_hit *hit = value;
	const struct policy_audit *audit;
	const struct policy_rule *rule;
	struct hits *hits = data;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	audit = policy_audit_by_id(hits->policy, id);
	rule = policy_rule_by_id(hits->policy, audit ? bh_verdict_rule(audit->decides) : id);
	for (int cpu = 0; rule && cpu < live_cpus(); cpu++)
		hits->at[hits->by_rule[rule - hits->policy->rules]].hits += hit[cpu].count;
	return 0;
}

static void put_hits(const struct metrics *metrics, const struct policy_hits *hits)
{
	fputs("bulkhead_policy_decisions_total{policy=\"", metrics->to);
	text_put_quoted(metrics->to, hits->policy);
	fprintf(metrics->to, "\",direction=\"%s\",action=\"%s\"} %" PRIu64 "\n",
		direction_name(hits->direction), action_name(hits->action), hits->hits);
}

/* Prints the policies that decided most, and the sum of the others by direction and action. */
static int report_policies(const struct metrics *metrics)
{
	struct hits hits = {.policy = metrics->status->policy};
	struct policy_hits rest[2][ACTION_PASS + 1] = {0};
	int error = list_policies(&hits);

	if (!error)
		error = live_hits(metrics->live, add_hits, &hits);
	if (!error) {
		metrics_family(metrics, "policy_decisions_total", "counter",
			       "Connections opened or evaluated again, and packets denied, by the "
			       "policy whose rule decided.");
		qsort(hits.at, hits.n, sizeof(*hits.at), compare_hits);
		for (size_t i = 0; i < hits.n; i++) {
			struct policy_hits *other = &rest[hits.at[i].direction][hits.at[i].action];

			if (i < metrics->request->policies) {
				put_hits(metrics, &hits.at[i]);
				continue;
			}
			*other = (struct policy_hits){"(others)", hits.at[i].direction,
						      hits.at[i].action,
						      other->hits + hits.at[i].hits};
		}
		for (size_t i = 0; i < 2 * (ACTION_PASS + 1); i++)
			if ((&rest[0][0])[i].policy)
				put_hits(metrics, &(&rest[0][0])[i]);
	}
	free(hits.at);
	free(hits.by_rule);
	return error;
}

static void report_maps(const struct metrics *metrics)
{
	const struct node_status *status = metrics->status;

	metrics_family(metrics, "map_entries", "gauge", "Entries in use.");
	for (size_t i = 0; i < status->n_maps; i++)
		fprintf(metrics->to, "bulkhead_map_entries{map=\"%s\"} %u\n", status->maps[i].name,
			status->maps[i].used);
	metrics_family(metrics, "map_max_entries", "gauge", "Entries that fit.");
	for (size_t i = 0; i < status->n_maps; i++)
		fprintf(metrics->to, "bulkhead_map_max_entries{map=\"%s\"} %u\n",
			status->maps[i].name, status->maps[i].max);
}

static void report_connections(const struct metrics *metrics)
{
	const struct node_connections *table = &metrics->status->connections;
	const struct node_status *status = metrics->status;

	gauge(metrics, "connections", "Connections in the table.", table->used);
	gauge(metrics, "connections_max", "Connections that the table is to hold.",
	      table->capacity);
	gauge(metrics, "connections_floor",
	      "Connections guaranteed to each endpoint, and to the node.", table->floor);
	gauge(metrics, "connections_surplus",
	      "Connections beyond what is guaranteed to their endpoints.",
	      table->surplus > 0 ? table->surplus : 0);
	gauge(metrics, "connections_surplus_max",
	      "Connections beyond which each such connection replaces another.",
	      table->surplus_capacity ? table->surplus_capacity : table->capacity);
	metrics_family(metrics, "connections_largest", "gauge",
		       "Connections of the interface, or of the node, that has most.");
	if (status->n_shares && status->shares[0].used > 0) {
		fputs("bulkhead_connections_largest{interface=\"", metrics->to);
		text_put_quoted(metrics->to, status->shares[0].name);
		fprintf(metrics->to, "\"} %d\n", status->shares[0].used);
	}
	metrics_family(metrics, "connections_replaced_total", "counter",
		       "Connections that made place for another one.");
	fprintf(metrics->to, "bulkhead_connections_replaced_total %" PRIu64 "\n", table->replaced);
	metrics_family(metrics, "connections_refused_total", "counter",
		       "Connections for which the table had no place.");
	fprintf(metrics->to, "bulkhead_connections_refused_total %" PRIu64 "\n", table->refused);
	metrics_family(metrics, "connections_corrected_total", "counter",
		       "Counts of connections that were wrong and were corrected.");
	fprintf(metrics->to, "bulkhead_connections_corrected_total %u\n", table->corrected);
}

/* Counts interfaces by role, and by whether an interface has all of its programs. */
static void report_interfaces(const struct metrics *metrics)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} roles[] = {
		{"endpoint", BH_IFACE_ENDPOINT},
		{"uplink", BH_IFACE_UPLINK},
		{"port", BH_IFACE_PORT},
	};
	const struct node_status *status = metrics->status;

	metrics_family(metrics, "interfaces", "gauge",
		       "Interfaces, by role and by whether they are guarded.");
	for (size_t r = 0; r < sizeof(roles) / sizeof(*roles); r++) {
		size_t n[2] = {0};

		for (size_t i = 0; i < status->n_ifaces; i++)
			if (status->ifaces[i].flags & roles[r].flag)
				n[status->ifaces[i].guarded]++;
		for (int guarded = 0; guarded < 2; guarded++)
			fprintf(metrics->to,
				"bulkhead_interfaces{role=\"%s\",guarded=\"%s\"} %zu\n",
				roles[r].name, guarded ? "yes" : "no", n[guarded]);
	}
	metrics_family(metrics, "endpoints_isolated", "gauge",
		       "Endpoints of this node that policies isolate, by direction.");
	for (int d = BH_INGRESS; d <= BH_EGRESS; d++)
		fprintf(metrics->to, "bulkhead_endpoints_isolated{direction=\"%s\"} %u\n",
			direction_name(d), status->isolated[d]);
	gauge(metrics, "endpoints_audited",
	      "Endpoints of this node that policy denies nothing, and only counts.",
	      status->audited);
	gauge(metrics, "endpoints_unguarded",
	      "Endpoints of this node that lack a program or an interface.", status->n_unguarded);
}

static void report_generations(const struct metrics *metrics)
{
	const struct node_status *status = metrics->status;
	const struct {
		const char *state;
		uint32_t policy, endpoint;
	} states[] = {
		{"desired", status->policy_generation.desired, status->endpoint_generation.desired},
		{"installed", status->policy_generation.installed,
		 status->endpoint_generation.installed},
		{"active", status->policy_generation.active, status->endpoint_generation.active},
		{"oldest", status->policy_generation.oldest, status->endpoint_generation.oldest},
	};

	gauge(metrics, "policy_loaded_timestamp_seconds",
	      "When the active policy was loaded or staged, seconds since 1970.", status->loaded);
	gauge(metrics, "generation", "Changes of this node so far.", status->generation);
	metrics_family(metrics, "policy_generation", "gauge",
		       "Generation of the segments, in the policies' own count.");
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		fprintf(metrics->to, "bulkhead_policy_generation{state=\"%s\"} %u\n",
			states[i].state, states[i].policy);
	metrics_family(metrics, "endpoint_generation", "gauge",
		       "Generation of the segments that the endpoints are in.");
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		fprintf(metrics->to, "bulkhead_endpoint_generation{state=\"%s\"} %u\n",
			states[i].state, states[i].endpoint);
}

/* Prints the metrics that exist also if no policy is active. */
static void report_build(const struct metrics *metrics)
{
	metrics_family(metrics, "build_info", "gauge", "1, with the version of the command.");
	fprintf(metrics->to, "bulkhead_build_info{version=\"%s\"} 1\n", BULKHEAD_VERSION);
	gauge(metrics, "loaded", "1 where a policy is active, else 0.", !!metrics->status->policy);
}

static int report_all(struct metrics *metrics)
{
	int error;

	report_build(metrics);
	metrics_put_cni(metrics->to, metrics->request->cni_state);
	if (!metrics->status->policy)
		return 0;
	gauge(metrics, "programs_current", "1 where the active programs are of this build, else 0.",
	      metrics->status->own_programs);
	report_generations(metrics);
	gauge(metrics, "policies", "Policy objects of the active policy.",
	      metrics->status->policies);
	gauge(metrics, "policies_audited",
	      "Policy objects of the active policy that are only audited.",
	      metrics->status->policies_audited);
	report_interfaces(metrics);
	report_maps(metrics);
	report_connections(metrics);
	error = report_counters(metrics);
	if (!error)
		error = metrics_drops(metrics);
	if (!error)
		error = metrics_dns(metrics);
	if (!error)
		error = report_policies(metrics);
	return error ? error : metrics_audits(metrics);
}

/* Reads the maps and writes all families to @to. */
static int collect(const struct metrics_request *request, FILE *to)
{
	struct diag diag = {.to = stderr};
	struct node_status status;
	struct metrics metrics = {to, request, &status, NULL};
	int error = node_status(request->pin, &diag, &status);

	if (!error && status.policy)
		error = live_open(request->pin, &diag, &metrics.live);
	/* An `unload` came between: nothing is active. */
	if (!error && !metrics.live) {
		policy_free(status.policy);
		status.policy = NULL;
	}
	if (!error) {
		error = report_all(&metrics);
		if (error)
			command_error("cannot read the maps: %s; status --check names missing pins",
				      strerror(-error));
	}
	live_close(metrics.live);
	node_status_free(&status);
	return error;
}

/* Returns an exit status. The collector, another user, may read the file, whatever the umask. */
static int write_output(const struct metrics_request *request)
{
	struct output output;
	int error = output_open(&output, request->output);

	if (error)
		return STATUS_KERNEL;
	if (*output.beside)
		fchmod(fileno(output.to), 0644);
	error = collect(request, output.to);
	/* after a crash of the machine, too, the file is the old one or the new */
	if (!error && *output.beside && !fflush(output.to))
		fsync(fileno(output.to));
	return status_of(output_close(&output, error));
}

void metrics_write(FILE *to, const char *pin)
{
	const struct metrics_request request = {
		.pin = pin, .policies = SERIES, .namespaces = SERIES};

	collect(&request, to);
}

static void take_number(struct call *call, void *to)
{
	*(size_t *)to = call_number(call, "", 0, 100000);
}

static const struct command_option options[] = {
	{'o', "output", "FILE", "replace this file in one step; else write to standard output",
	 OPTION_TEXT(struct metrics_request, output)},
	{0, "policies", "N", "policies with series of their own, those that decide most; else 100",
	 OPTION_TAKE(struct metrics_request, policies, take_number)},
	{0, "namespaces", "N",
	 "namespaces with series of their own, those with most drops; else 100",
	 OPTION_TAKE(struct metrics_request, namespaces, take_number)},
	{0, "cni-state", "DIR", "the CNI plugin's folder, else /run/bulkhead/cni",
	 OPTION_TEXT(struct metrics_request, cni_state)},
	PIN_OPTION(struct metrics_request, pin),
	{0},
};

static int run(struct call *call)
{
	struct metrics_request request = {.policies = SERIES, .namespaces = SERIES};

	call_options(call, &request);
	if (call->json)
		call_usage_error(call, "has no JSON form: see `show counters -j` and `status -j`");
	return write_output(&request);
}

const struct command command_metrics = {
	.name = "metrics",
	.operands = "",
	.help = "print the node's counters for Prometheus",
	.options = options,
	.run = run,
};
