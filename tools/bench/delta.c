// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the load of a delta, such as one endpoint more, on a node that knows
 * 150,000 endpoints of two addresses, against a load of the whole policy. Then
 * loads many deltas in a row on a small node, and compares the bytes that are
 * pinned and the time of a step at the beginning and at the end.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "policy/delta.h"
#include "input/input.h"
#include "tools/bench/command.h"
#include "tools/bench/memory.h"
#include "tools/bench/place.h"

#define WORKLOAD "node 10 150000 1"

/* In namespace ns-7 policies tell app-0 and the others apart. */
#define CHANGED "ns-7/pod-50"

/* A policy selects this label, which no endpoint of the cluster has. */
#define KIND \
	"[network-policy ns-7/kind]\nendpoints = app=kind\ningress = from endpoints(app=app-0)\n"

/* An endpoint of the node, without an interface. */
#define HERE "ns-7/here"
#define HERE_POD                                                                            \
	"[endpoint " HERE "]\nnode = bench\nip = 10.200.0.4, fd99::4\nlabels = app=app-1\n" \
	"mac = 02:00:00:00:00:04\n"

enum { MORE, LABEL, LESS, OWN, BESIDE, FIRST, POLICY, SERVICE, MAC, AUDIT, CHANGES };

static const char *const names[CHANGES] = {"one endpoint more",
					   "one label changed",
					   "one endpoint less",
					   "one endpoint of this node more",
					   "one more, beside an added one of a new kind",
					   "the first endpoint of a segment",
					   "one policy more",
					   "one Service and one CIDR more",
					   "another MAC of an endpoint of this node",
					   "one namespace more that is audited"};

struct work {
	char input[CHANGES + 1][BENCH_PATH + 16]; /* the last: as it was */
	char blob[CHANGES + 1][BENCH_PATH + 16], delta[CHANGES][BENCH_PATH + 16];
	struct figure *time[CHANGES], *busy[CHANGES], *writes[CHANGES], *bytes[CHANGES];
	struct figure *whole, *start, *wait;
};

/* An awk program for each change, which edits the input. */
static const char *const edits[CHANGES] = {
	"{print} $0 == \"[namespace ns-0]\" {print \"[endpoint ns-7/more]\\nnode = worker-1\\n"
	"ip = 10.200.0.1, fd99::1\\nlabels = app=app-1\"}",
	"/^\\[/ {at = $0 == \"[endpoint " CHANGED
	"]\"} at && /^labels/ {$0 = \"labels = app=app-1\"} 1",
	"/^\\[/ {at = $0 == \"[endpoint " CHANGED "]\"} !at",
	"{print} $0 == \"[namespace ns-0]\" {print \"[endpoint ns-7/own]\\nnode = bench\\n"
	"ip = 10.200.0.2, fd99::2\\nlabels = app=app-1\"}",
	"{print} $0 == \"[namespace ns-0]\" {print \"[endpoint ns-7/more]\\nnode = worker-1\\n"
	"ip = 10.200.0.1, fd99::1\\nlabels = app=app-1\"}",
	"{print} $0 == \"[namespace ns-0]\" {print \"[endpoint ns-7/first]\\nnode = worker-1\\n"
	"ip = 10.200.0.3, fd99::3\\nlabels = app=kind\"}",
	"{print} $0 == \"[namespace ns-0]\" {print \"[network-policy ns-7/more]\\n"
	"endpoints = app=app-1\\ningress = from endpoints(app=app-0) ports TCP/81,UDP/53\"}",
	"{print} $0 == \"[namespace ns-0]\" {print \"[service ns-7/more]\\naddress = 10.96.0.1\\n"
	"port = TCP/80 to 8080\\nbackends = endpoints(app=app-1)\\n[network-policy ns-7/more]\\n"
	"endpoints = app=app-1\\ningress = from cidr(198.51.100.0/24) ports TCP/81\"}",
	"/^\\[/ {at = $0 == \"[endpoint " HERE
	"]\"} at && /^mac/ {$0 = \"mac = 02:00:00:00:00:05\"} 1",
	"{print} $0 == \"[namespace ns-7]\" {print \"audit = yes\"}",
};

static int compile(struct bench *bench, const char *arguments, const char *to, const char *input)
{
	double ms;

	return command_run(bench, &ms, "%s/bulkhead compile %s -o %s %s", bench->build, arguments,
			   to, input);
}

static int make_change(struct bench *bench, struct work *work, int change)
{
	const char *input = work->input[CHANGES], *base = work->blob[CHANGES];
	char arguments[2 * BENCH_PATH], command[4 * BENCH_PATH];
	int err;

	snprintf(work->input[change], sizeof(work->input[0]), "%.240s.%d.ini", input, change);
	snprintf(work->blob[change], sizeof(work->blob[0]), "%.240s.%d.bhp", input, change);
	snprintf(work->delta[change], sizeof(work->delta[0]), "%.240s.%d.delta", input, change);
	snprintf(command, sizeof(command), "awk '%s' %s >%s", edits[change], input,
		 work->input[change]);
	err = system(command) ? -EIO : 0;
	snprintf(arguments, sizeof(arguments), "--base %s", base);
	err = err ? err : compile(bench, arguments, work->blob[change], work->input[change]);
	snprintf(arguments, sizeof(arguments), "--base %s --delta", base);
	return err ? err : compile(bench, arguments, work->delta[change], work->input[change]);
}

static int add_objects(const char *input)
{
	FILE *to = fopen(input, "a");

	if (!to)
		return -errno;
	fputs(KIND HERE_POD, to);
	return fclose(to) ? -errno : 0;
}

static int prepare(struct bench *bench, struct work *work)
{
	struct report *report = &bench->report;
	char *input = work->input[CHANGES];
	int err = bench_workload(bench, WORKLOAD, "ini", input);

	snprintf(work->blob[CHANGES], sizeof(work->blob[0]), "%.240s.bhp", input);
	err = err ? err : add_objects(input);
	err = err ? err : compile(bench, "", work->blob[CHANGES], input);
	work->whole = report_figure(report, "ms", "load of the whole with one endpoint more");
	for (int i = 0; i < CHANGES && !err; i++) {
		err = make_change(bench, work, i);
		work->time[i] = report_figure(report, "ms", "%s", names[i]);
		work->busy[i] = report_figure(report, "ms", "%s: of the processor", names[i]);
		work->writes[i] = report_figure(report, "", "%s: map writes", names[i]);
		work->bytes[i] = report_figure(report, "B", "%s: the file", names[i]);
		figure_target(
			report_ratio(report, work->time[i], work->whole, "%s / whole", names[i]),
			LIMIT_NONE, 0);
	}
	figure_target(work->time[MORE], LIMIT_AT_MOST, 10);
	figure_target(work->time[LABEL], LIMIT_AT_MOST, 10);
	figure_target(work->time[OWN], LIMIT_AT_MOST, 10);
	figure_target(work->time[BESIDE], LIMIT_AT_MOST, 10);
	figure_target(work->time[FIRST], LIMIT_AT_MOST, 10);
	work->start = report_figure(report, "ms", "of each, the command's start (help)");
	work->wait = report_figure(report, "ms", "one wait for RCU; one endpoint less has two");
	return err;
}

static double clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int load(struct bench *bench, const struct place *place, const char *file, double *ms)
{
	return command_run(bench, ms, "%s/bulkhead load -v --rollback -n bench --pin %s %s",
			   bench->build, place->pin, file);
}

/* Adds an endpoint for which the node makes a segment, or takes it off. */
static int set_kind(struct bench *bench, const struct place *place, bool there)
{
	double ms;

	return there ? command_run(
			       bench, &ms,
			       "%s/bulkhead endpoint add ns-7/kind --node worker-1 --ip 10.200.0.9 "
			       "--labels app=kind --pin %s",
			       bench->build, place->pin)
		     : command_run(bench, &ms, "%s/bulkhead endpoint del ns-7/kind --pin %s",
				   bench->build, place->pin);
}

static int measure(struct bench *bench, const struct place *place, struct work *work)
{
	double ms, n, busy, begin;
	int err = 0;

	for (int i = 0; i < CHANGES && !err; i++) {
		err = load(bench, place, work->blob[CHANGES], &ms);
		err = err || i != BESIDE ? err : set_kind(bench, place, true);
		busy = command_processor_ms();
		err = err ? err : load(bench, place, work->delta[i], &ms);
		err = err ? err : command_map_writes(bench, &n);
		if (err)
			return err;
		figure_add(work->time[i], ms);
		figure_add(work->busy[i], command_processor_ms() - busy);
		figure_add(work->writes[i], n);
		err = i == BESIDE ? set_kind(bench, place, false) : 0;
	}
	err = err ? err : load(bench, place, work->blob[CHANGES], &ms);
	err = err ? err : load(bench, place, work->blob[MORE], &ms);
	figure_add(work->whole, ms);
	err = err ? err : command_run(bench, &ms, "%s/bulkhead help", bench->build);
	figure_add(work->start, ms);
	begin = clock_ms();
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	figure_add(work->wait, clock_ms() - begin);
	return err;
}

static int measure_files(struct work *work)
{
	for (int i = 0; i < CHANGES; i++) {
		FILE *file = fopen(work->delta[i], "r");

		if (!file)
			return -errno;
		fseek(file, 0, SEEK_END);
		figure_add(work->bytes[i], ftell(file));
		fclose(file);
	}
	return 0;
}

/* A small cluster, at step @step of a long way: one pod of 40 is there or not, or has other labels.
 */
static int make_cluster(unsigned int step, struct cluster *cluster, struct diag *diag)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int err;

	if (!to)
		return -errno;
	for (unsigned int i = 0; i < 40; i++)
		if ((step + i) % 41)
			fprintf(to,
				"[endpoint shop/p-%u]\nnode = worker\nip = 10.0.0.%u\n"
				"labels = role=r-%u\n",
				i, i + 1, ((step + i) / 41 + i) % 3);
	fputs("[node bench]\nip = 192.0.2.1\n"
	      "[endpoint shop/r-0]\nnode = worker\nip = 10.0.1.1\nlabels = role=r-0\n"
	      "[endpoint shop/r-1]\nnode = worker\nip = 10.0.1.2\nlabels = role=r-1\n"
	      "[network-policy shop/p]\nendpoints = role=r-0\n"
	      "ingress = from endpoints(role=r-1) ports TCP/80\n",
	      to);
	if (fclose(to))
		return -ENOMEM;
	cluster_init(cluster);
	err = input_parse_ini(cluster, text, size, "way", diag);
	free(text);
	return err ? err : cluster_finish(cluster, diag);
}

/* Replaces @policy by that of the step, and activates it: as a delta, the first as a whole. */
static int take_step(const struct place *place, unsigned int step, struct policy **policy)
{
	struct diag diag = {.to = stderr};
	struct policy *next = NULL;
	struct delta *delta = NULL;
	struct node_handle *host = NULL;
	struct node_change change;
	struct cluster cluster;
	void *bytes = NULL;
	size_t size;
	int err = make_cluster(step, &cluster, &diag);

	err = err ? err : compile_cluster(&cluster, *policy, &diag, &next);
	err = err ? err : blob_write(next, &bytes, &size);
	err = err || !*policy ? err : delta_make(*policy, next, &delta);
	err = err ? err : node_open(&place->options, true, &diag, &host);
	if (!err)
		err = delta ? node_load_delta(host, delta, &change, NULL)
			    : node_load(host, next, &change);
	node_close(host);
	delta_free(delta);
	free(bytes);
	cluster_free(&cluster);
	policy_free(*policy);
	*policy = next;
	return err;
}

/* Reports the pinned bytes and the time of a step in the first and the last tenth of many deltas.
 */
static int go_far(struct bench *bench)
{
	const char *wanted = getenv("DELTAS");
	const unsigned int steps = wanted ? atoi(wanted) : 1000, tenth = steps / 10;
	struct report *report = &bench->report;
	struct policy *policy = NULL;
	struct place place;
	struct map_memory memory;
	double begin = 0;
	int err = place_make(bench, 1, &place);

	place.options.pin = place.pin;
	for (unsigned int i = 0; i < steps && !err; i++) {
		if (i % (steps - tenth) == 1)
			begin = clock_ms();
		err = take_step(&place, i, &policy);
		if (err || i % (steps - tenth) != tenth)
			continue;
		err = memory_read(place.pin, &memory);
		figure_add(report_figure(report, "ms", "%u in a row: one of the first %u", steps,
					 tenth),
			   (clock_ms() - begin) / tenth);
		figure_add(report_figure(report, "kB", "the same: maps after the first %u", tenth),
			   memory.policy / 1e3);
	}
	err = err ? err : memory_read(place.pin, &memory);
	policy_free(policy);
	if (err)
		return err;
	figure_add(report_figure(report, "ms", "%u in a row: one of the last %u", steps, tenth),
		   (clock_ms() - begin) / tenth);
	figure_add(report_figure(report, "kB", "the same: maps after all %u", steps),
		   memory.policy / 1e3);
	return 0;
}

int bench_delta(struct bench *bench)
{
	static struct work work;
	struct place place;
	int err = place_make(bench, 0, &place);

	err = err ? err : prepare(bench, &work);
	err = err ? err : measure_files(&work);
	for (unsigned int i = 0; i < bench->rounds && !err; i++)
		err = measure(bench, &place, &work);
	return err ? err : go_far(bench);
}
