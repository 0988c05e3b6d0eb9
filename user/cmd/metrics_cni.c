// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead metrics`: the counters of the container runtimes' plugin. */
#include <ctype.h>
#include <inttypes.h>

#include "cmd/metrics_cni.h"
#include "cni/cni.h"

static void put_family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP bulkhead_cni_%s %s\n# TYPE bulkhead_cni_%s %s\n", name, help, name,
		type);
}

static const char *lower(const char *name, char text[16])
{
	size_t i = 0;

	for (; i < 15 && name[i]; i++)
		text[i] = tolower((unsigned char)name[i]);
	text[i] = '\0';
	return text;
}

static void put_calls(FILE *to, const struct cni_counts *counts)
{
	char text[16];

	put_family(to, "calls_total", "counter", "Calls of the container runtimes' plugin.");
	for (size_t i = 0; i < CNI_COMMANDS; i++) {
		const char *command = lower(cni_command_names[i], text);

		fprintf(to,
			"bulkhead_cni_calls_total{command=\"%s\",result=\"done\"} %" PRIu64 "\n",
			command, counts->calls[i].done);
		fprintf(to,
			"bulkhead_cni_calls_total{command=\"%s\",result=\"failed\"} %" PRIu64 "\n",
			command, counts->calls[i].failed);
	}
	put_family(to, "seconds", "histogram", "Time that a call took.");
	for (size_t i = 0; i < CNI_COMMANDS; i++) {
		char label[32];

		snprintf(label, sizeof(label), "command=\"%s\"", lower(cni_command_names[i], text));
		histogram_write(to, "cni_seconds", label, &counts->took[i]);
	}
	put_family(to, "seconds_total", "counter", "Time that these calls took.");
	for (size_t i = 0; i < CNI_COMMANDS; i++)
		fprintf(to, "bulkhead_cni_seconds_total{command=\"%s\"} %.6f\n",
			lower(cni_command_names[i], text), counts->calls[i].microseconds / 1e6);
}

void metrics_put_cni(FILE *to, const char *state)
{
	struct cni_counts counts;

	if (!cni_count(state, &counts))
		return;
	put_calls(to, &counts);
	put_family(to, "attached", "gauge",
		   "Interfaces of pods that the plugin has attached, by the source of the pod's "
		   "name.");
	for (size_t i = 0; i < CNI_SOURCES; i++)
		fprintf(to, "bulkhead_cni_attached{identity=\"%s\"} %" PRIu64 "\n",
			cni_source_names[i], counts.attached[i]);
}
