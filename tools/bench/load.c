// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures a policy's load: the time of `bulkhead load` with a compiled blob, and the kernel
 * memory of the maps that it fills.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/bench/changes.h"
#include "tools/bench/command.h"
#include "tools/bench/memory.h"
#include "tools/bench/place.h"

/* The last one is small: 1,000 endpoints and 101 policies. */
static const struct {
	const char *name, *arguments; /* of the generator */
} workloads[] = {
	{"tenants", "tenants 100"}, {"apps", "apps 100"},	    {"same", "same 100"},
	{"pairs", "pairs 100"},	    {"companies", "companies 100"}, {"small", "apps 1"},
};
#define N_WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

struct workload {
	const char *name;
	char input[BENCH_PATH], changed[BENCH_PATH]; /* changed: with one more policy */
	char blob[BENCH_PATH + 8], next[BENCH_PATH + 8];
	size_t endpoints, pairs;
	struct figure *cold, *busy, *again, *again_input, *again_busy, *change, *unload, *memory,
		*stored, *fixed, *each, *each_fast;
};

/* Writes the same input with one more policy, in an existing namespace. */
static int write_changed(const struct bench *bench, struct workload *workload)
{
	double ms;
	FILE *to;
	int err;

	snprintf(workload->changed, sizeof(workload->changed), "%.200s.changed.ini",
		 workload->input);
	err = command_run(bench, &ms, "cp %s %s", workload->input, workload->changed);
	to = err ? NULL : fopen(workload->changed, "a");
	if (!to)
		return err ? err : -errno;
	fputs("[network-policy ns-0/more]\nendpoints = app=app-1\n"
	      "ingress = from endpoints(app=app-2) ports TCP/443\n",
	      to);
	return fclose(to) ? -errno : 0;
}

static int read_sizes(struct workload *workload)
{
	struct policy *policy;
	int err = command_read_blob(workload->blob, &policy);

	if (err)
		return err;
	workload->endpoints = policy->n_endpoints;
	workload->pairs = policy->n_pairs;
	policy_free(policy);
	return 0;
}

static int prepare(struct bench *bench, struct workload *workload, const char *name,
		   const char *arguments)
{
	struct report *report = &bench->report;
	double ms;
	int err = bench_workload(bench, arguments, "ini", workload->input);

	workload->name = name;
	err = err ? err : write_changed(bench, workload);
	snprintf(workload->blob, sizeof(workload->blob), "%s.bhp", workload->input);
	snprintf(workload->next, sizeof(workload->next), "%s.bhp", workload->changed);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead compile -o %s %s", bench->build,
				workload->blob, workload->input);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead compile --base %s -o %s %s", bench->build,
				workload->blob, workload->next, workload->changed);
	workload->cold = report_figure(report, "ms", "%s: cold load", name);
	workload->busy = report_figure(report, "ms", "%s: cold load, of the processor", name);
	workload->again = report_figure(report, "ms", "%s: load of what is active", name);
	workload->again_input = report_figure(report, "ms", "%s: the same, from its input", name);
	workload->again_busy = report_figure(report, "ms", "%s: that, of the processor", name);
	report_ratio(report, workload->again, workload->cold,
		     "%s: load of what is active / cold load", name);
	workload->change = report_figure(report, "ms", "%s: load of one rule more", name);
	workload->unload = report_figure(report, "ms", "%s: unload", name);
	workload->memory = report_figure(report, "MB", "%s: maps of the policy", name);
	workload->stored = report_figure(report, "MB", "%s: of that, the policy's blob", name);
	workload->fixed = report_figure(report, "MB", "%s: maps of fixed size", name);
	workload->each = report_figure(report, "B", "%s: an endpoint, beside 96 B a pair", name);
	workload->each_fast = report_figure(report, "B", "%s: the same without the blob", name);
	return err ? err : read_sizes(workload);
}

static int measure_memory(const struct place *place, struct workload *workload)
{
	const double pairs = 96.0 * workload->pairs;
	struct map_memory memory;
	int err = memory_read(place->pin, &memory);

	if (err)
		return err;
	figure_add(workload->memory, memory.policy / 1e6);
	figure_add(workload->fixed, memory.fixed / 1e6);
	figure_add(workload->stored, memory.blob / 1e6);
	figure_add(workload->each, (memory.policy - pairs) / workload->endpoints);
	figure_add(workload->each_fast,
		   (memory.policy - memory.blob - pairs) / workload->endpoints);
	return 0;
}

static int measure(struct bench *bench, const struct place *place, struct workload *workload)
{
	const char *build = bench->build, *pin = place->pin;
	double cold, again, again_input, again_busy, change, unload;
	double busy = command_processor_ms();
	int err;

	/* No endpoint of the generator's clusters is on this node. */
	err = command_run(bench, &cold, "%s/bulkhead load --force -n bench --pin %s %s", build, pin,
			  workload->blob);
	busy = command_processor_ms() - busy;
	err = err ? err : measure_memory(place, workload);
	err = err ? err
		  : command_run(bench, &again, "%s/bulkhead load -n bench --pin %s %s", build, pin,
				workload->blob);
	again_busy = command_processor_ms();
	err = err ? err
		  : command_run(bench, &again_input, "%s/bulkhead load -n bench --pin %s %s", build,
				pin, workload->input);
	again_busy = command_processor_ms() - again_busy;
	err = err ? err
		  : command_run(bench, &change, "%s/bulkhead load -n bench --pin %s %s", build, pin,
				workload->next);
	err = err ? err : command_run(bench, &unload, "%s/bulkhead unload --pin %s", build, pin);
	if (err)
		return err;
	figure_add(workload->cold, cold);
	figure_add(workload->busy, busy);
	figure_add(workload->again, again);
	figure_add(workload->again_input, again_input);
	figure_add(workload->again_busy, again_busy);
	figure_add(workload->change, change);
	figure_add(workload->unload, unload);
	return 0;
}

int bench_load(struct bench *bench)
{
	static struct workload work[N_WORKLOADS];
	static struct node_changes changes;
	struct place place;
	int err = place_make(bench, 0, &place);

	/* Commands inherit the priority: other processes wait. */
	setpriority(PRIO_PROCESS, 0, -20);
	for (size_t i = 0; i < N_WORKLOADS && !err; i++)
		err = prepare(bench, &work[i], workloads[i].name, workloads[i].arguments);
	if (!err) {
		figure_target(work[0].cold, LIMIT_AT_MOST, 2000);
		for (size_t i = 0; i < N_WORKLOADS - 1; i++)
			figure_target(work[i].each, LIMIT_AT_MOST, 400);
		figure_target(work[N_WORKLOADS - 1].again, LIMIT_AT_MOST, 30);
		figure_target(work[N_WORKLOADS - 1].again_input, LIMIT_AT_MOST, 30);
	}
	err = err ? err : changes_prepare(bench, &changes);
	for (unsigned int round = 0; round < bench->rounds && !err; round++) {
		err = place_enter(&place);
		for (size_t i = 0; i < N_WORKLOADS && !err; i++)
			err = measure(bench, &place, &work[i]);
		err = err ? err : changes_measure(bench, &changes);
	}
	return err;
}
