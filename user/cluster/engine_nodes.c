// SPDX-License-Identifier: GPL-2.0-only
/* The nodes' reports, and which nodes count. */
#include <stdlib.h>
#include <string.h>

#include "cluster/engine.h"

static void free_report(struct lh_entry *entry)
{
	struct report *report = lh_entry_v(entry);

	free(report->heartbeat);
	free(report);
	free(lh_entry_k(entry));
}

static struct report *report_of(struct engine *engine, const char *name)
{
	struct lh_entry *entry = lh_table_lookup_entry(engine->nodes, name);
	struct report *report;
	char *key;

	if (entry)
		return lh_entry_v(entry);
	report = calloc(1, sizeof(*report));
	key = strdup(name);
	if (!report || !key || lh_table_insert(engine->nodes, key, report)) {
		free(report);
		free(key);
		return NULL;
	}
	return report;
}

struct lh_table *engine_reports_new(void)
{
	return lh_kchar_table_new(64, free_report);
}

/* Returns the limit in ms: this engine's or the one that nodes have, whichever is longer. */
static uint64_t node_limit(const struct engine *engine)
{
	const uint32_t own = engine->options->node_seconds;
	const uint32_t told = engine->status.limit ? engine->status.limit : ROLLOUT_LIMIT_DEFAULT;

	return (own > told ? own : told) * 1000ull;
}

/* Returns since when a node's silence counts: since its last report, or since this engine can hear
 * nodes, whichever is later. The engine cannot hear nodes while the server is silent or another
 * engine leads, and a node need not keep a limit that it does not know. */
static uint64_t heard(const struct engine *engine, const struct report *report)
{
	uint64_t since = api_watch_since(engine->nodes_watch);

	if (!since)
		return api_now();
	if (engine->listens > since)
		since = engine->listens;
	return report->seen > since ? report->seen : since;
}

static bool is_heard(const struct engine *engine, const struct report *report)
{
	return heard(engine, report) + node_limit(engine) > api_now();
}

bool engine_report(struct engine *engine, const char *name, struct json_object *object)
{
	struct report *report = report_of(engine, name);
	const char *heartbeat = api_text(object, "status.heartbeat");
	const uint32_t policy = api_number(object, "status.latestPolicyGeneration");
	const uint32_t endpoint = api_number(object, "status.latestEndpointGeneration");
	bool moves;

	if (!report)
		return false;
	moves = policy != report->policy || endpoint != report->endpoint || !report->seen ||
		!is_heard(engine, report);
	report->policy = policy;
	report->endpoint = endpoint;
	if (heartbeat && (!report->heartbeat || strcmp(heartbeat, report->heartbeat))) {
		free(report->heartbeat);
		report->heartbeat = strdup(heartbeat);
		report->seen = api_now();
	}
	return moves;
}

static void count(const struct engine *engine, const char *name, const struct report *report,
		  struct least *least)
{
	const uint64_t next = heard(engine, report) + node_limit(engine);
	const struct store_status *status = &engine->status;
	const bool installing = status->endpoint < status->policy;

	least->nodes++;
	if (report->policy < least->policy)
		least->policy = report->policy;
	if (report->endpoint < least->endpoint)
		least->endpoint = report->endpoint;
	if ((installing ? report->policy : report->endpoint) < status->policy) {
		least->behind = name;
		least->n_behind++;
	}
	if (next < least->next)
		least->next = next;
}

/* The rollout waits for the nodes that are alive and in the cluster. */
struct least engine_least(const struct engine *engine)
{
	struct least least = {.policy = UINT32_MAX, .endpoint = UINT32_MAX, .next = UINT64_MAX};
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next) {
		const struct report *report = lh_entry_v(entry);
		const char *name = lh_entry_k(entry);

		if (!objects_have_node(engine->objects, name))
			continue;
		if (is_heard(engine, report)) {
			count(engine, name, report, &least);
		} else {
			least.quiet = name;
			least.n_quiet++;
		}
	}
	least.silent = !least.nodes && lh_table_length(engine->nodes);
	return least;
}
