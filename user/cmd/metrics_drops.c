// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead metrics`: drops by namespace, and events that no reader got. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/metrics.h"
#include "cmd/text_buffer.h"
#include "maps/tally.h"

/* Drops of packets of one namespace's endpoints. */
struct space {
	const char *name;
	struct node_drops drops;
};

static const char *name_of(const struct policy *policy, uint64_t ns)
{
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const char *name = policy_string(policy, policy->namespaces[i].name);

		if (bh_namespace(name) == ns)
			return name;
	}
	return ns == BH_NAMESPACE_NONE ? "(none)" : "(gone)";
}

static uint64_t weight(const struct space *space)
{
	return space->drops.packets[0] + space->drops.packets[1];
}

/* Sorts drops without a namespace's name last: their endpoints are gone, and the namespace is
 * unknown. */
static int compare_spaces(const void *a, const void *b)
{
	const struct space *first = a, *second = b;
	bool gone[] = {!strcmp(first->name, "(gone)"), !strcmp(second->name, "(gone)")};

	if (gone[0] != gone[1])
		return gone[0] ? 1 : -1;
	if (weight(first) != weight(second))
		return weight(first) > weight(second) ? -1 : 1;
	return strcmp(first->name, second->name);
}

/* Keeps @limit series, and adds up all others in one more series behind these. Returns the number
 * of series. */
static size_t bound_spaces(struct space *spaces, size_t n, size_t limit)
{
	size_t kept = 0;

	qsort(spaces, n, sizeof(*spaces), compare_spaces);
	while (kept < n && kept < limit && strcmp(spaces[kept].name, "(gone)"))
		kept++;
	if (kept == n)
		return kept;
	spaces[kept].name = "(others)";
	for (size_t i = kept + 1; i < n; i++)
		for (int direction = 0; direction < 2; direction++) {
			spaces[kept].drops.packets[direction] += spaces[i].drops.packets[direction];
			spaces[kept].drops.bytes[direction] += spaces[i].drops.bytes[direction];
		}
	return kept + 1;
}

static void put_spaces(const struct metrics *metrics, const char *name, const char *help,
		       const struct space *spaces, size_t n, bool bytes)
{
	metrics_family(metrics, name, "counter", help);
	for (size_t i = 0; i < n; i++)
		for (int d = 0; d < 2; d++) {
			fprintf(metrics->to, "bulkhead_%s{namespace=\"", name);
			text_put_quoted(metrics->to, spaces[i].name);
			fprintf(metrics->to, "\",direction=\"%s\"} %" PRIu64 "\n",
				direction_name(d),
				bytes ? spaces[i].drops.bytes[d] : spaces[i].drops.packets[d]);
		}
}

static int report_spaces(const struct metrics *metrics)
{
	const struct node_status *status = metrics->status;
	struct space *spaces = calloc(status->n_drops + 1, sizeof(*spaces));
	size_t n;

	if (!spaces)
		return -ENOMEM;
	for (size_t i = 0; i < status->n_drops; i++)
		spaces[i] = (struct space){name_of(status->policy, status->drops[i].ns),
					   status->drops[i]};
	n = bound_spaces(spaces, status->n_drops, metrics->request->namespaces);
	put_spaces(
		metrics, "dropped_packets_total",
		"Packets dropped, by the namespace of their sender (egress) or receiver (ingress).",
		spaces, n, false);
	put_spaces(metrics, "dropped_bytes_total", "Bytes of these packets.", spaces, n, true);
	free(spaces);
	return 0;
}

/* Counts the events that were held back. */
static void report_events(const struct metrics *metrics)
{
	const struct node_status *status = metrics->status;

	metrics_single(metrics, "event_readers", "gauge", "Readers of events.", status->n_readers);
	metrics_single(metrics, "events_written_total", "counter",
		       "Events that were given to a reader, counted for each reader.",
		       status->events_written);
	metrics_single(metrics, "events_lost_total", "counter",
		       "Events that their reader did not read in time.", status->events_lost);
	metrics_family(metrics, "events_suppressed_total", "counter",
		       "Events not written because an interface exceeded its budget.");
	for (size_t i = 0; i < status->n_suppressed; i++) {
		const struct node_suppressed *suppressed = &status->suppressed[i];

		fputs("bulkhead_events_suppressed_total{interface=\"", metrics->to);
		text_put_quoted(metrics->to, suppressed->name);
		fputs("\",endpoint=\"", metrics->to);
		text_put_quoted(metrics->to, suppressed->endpoint);
		fprintf(metrics->to, "\"} %" PRIu64 "\n", suppressed->events);
	}
}

int metrics_drops(const struct metrics *metrics)
{
	int error = report_spaces(metrics);

	if (!error)
		report_events(metrics);
	return error;
}
