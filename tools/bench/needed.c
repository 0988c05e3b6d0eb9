// SPDX-License-Identifier: GPL-2.0-only
/* Measures what a node with its share of a cluster's pods saves when it loads only what it
 * needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/command.h"
#include "tools/bench/memory.h"
#include "tools/bench/place.h"

#define HERE 110 /* pods on the node, spread over the cluster */

static const char *const workloads[] = {"tenants", "apps", "same", "pairs", "companies"};
#define N_WORKLOADS 5

struct workload {
	char blob[BENCH_PATH + 8];
	struct figure *all, *needed;
};

/* Puts every nth pod on the node "bench". */
static int spread(const char *input, const char *output)
{
	char command[4 * BENCH_PATH];

	snprintf(command, sizeof(command),
		 "awk -v n=\"$(grep -c '^.endpoint ' %s)\" '/^.endpoint /{i++} "
		 "/^node = /&&i%%int(n/%d)==0{$0=\"node = bench\"}1' %s >%s",
		 input, HERE, input, output);
	return system(command) ? -EIO : 0;
}

static int prepare(struct bench *bench, struct workload *workload, const char *name)
{
	char input[BENCH_PATH], output[BENCH_PATH + 16], arguments[64];
	double ms;
	int err;

	snprintf(arguments, sizeof(arguments), "%s 100", name);
	err = bench_workload(bench, arguments, "ini", input);
	snprintf(output, sizeof(output), "%s.spread.ini", input);
	snprintf(workload->blob, sizeof(workload->blob), "%.240s.spread.bhp", input);
	err = err ? err : spread(input, output);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead compile -o %s %s", bench->build,
				workload->blob, output);
	workload->all = report_figure(&bench->report, "MB", "%s: maps of the policy", name);
	workload->needed =
		report_figure(&bench->report, "MB", "%s: with what %d pods need", name, HERE);
	return err;
}

static int measure(struct bench *bench, const struct place *place, const char *blob,
		   const char *peers, struct figure *figure)
{
	struct map_memory memory;
	double ms;
	int err = command_run(bench, &ms, "%s/bulkhead load -n bench --pin %s --peers %s %s",
			      bench->build, place->pin, peers, blob);

	err = err ? err : memory_read(place->pin, &memory);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead unload --pin %s", bench->build,
				place->pin);
	if (!err)
		figure_add(figure, memory.policy / 1e6);
	return err;
}

int bench_needed(struct bench *bench)
{
	static struct workload work[N_WORKLOADS];
	struct place place;
	int err = place_make(bench, 0, &place);

	/* the memory is the same in every round */
	for (int i = 0; i < N_WORKLOADS && !err; i++) {
		err = prepare(bench, &work[i], workloads[i]);
		err = err ? err : measure(bench, &place, work[i].blob, "all", work[i].all);
		err = err ? err : measure(bench, &place, work[i].blob, "needed", work[i].needed);
		report_ratio(&bench->report, work[i].needed, work[i].all, "%s: needed / all",
			     workloads[i]);
	}
	return err;
}
