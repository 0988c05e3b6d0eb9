// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/changes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/command.h"

#define WORKLOAD "node 10 150000 1"

/* Writes one more policy, in an existing namespace. */
static int write_more(const char *path)
{
	FILE *to = fopen(path, "w");

	if (!to)
		return -errno;
	fputs("[network-policy ns-7/more]\nendpoints = app=app-1\n"
	      "ingress = from endpoints(app=app-2) ports TCP/443\n",
	      to);
	return fclose(to) ? -errno : 0;
}

static int compile(struct bench *bench, struct node_changes *changes)
{
	char path[BENCH_PATH], more[BENCH_PATH];
	double ms;
	int err = bench_workload(bench, WORKLOAD, "ini", path);

	snprintf(changes->blob, sizeof(changes->blob), "%.240s.bhp", path);
	snprintf(changes->next, sizeof(changes->next), "%.240s.next.bhp", path);
	snprintf(more, sizeof(more), "%.200s/bench/more.ini", bench->build);
	err = err ? err : write_more(more);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead compile -o %s %s", bench->build,
				changes->blob, path);
	return err ? err
		   : command_run(bench, &ms, "%s/bulkhead compile --base %s -o %s %s %s",
				 bench->build, changes->blob, changes->next, path, more);
}

static bool has_segment(const struct policy *policy, uint32_t id)
{
	for (size_t i = 0; i < policy->n_segments; i++)
		if (policy->segments[i].id == id && !policy->segments[i].delete_generation)
			return true;
	return false;
}

static bool has_pair(const struct policy *policy, const struct policy_pair *pair)
{
	for (size_t i = 0; i < policy->n_pairs; i++)
		if (policy->pairs[i].subject == pair->subject &&
		    policy->pairs[i].peer == pair->peer)
			return true;
	return false;
}

/* Counts the records that @a has and @b lacks. */
static size_t count_more(const struct policy *a, const struct policy *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_segments; i++)
		n += !a->segments[i].delete_generation && !has_segment(b, a->segments[i].id);
	for (size_t i = 0; i < a->n_pairs; i++)
		n += !has_pair(b, &a->pairs[i]);
	return n;
}

static int count_changed(struct node_changes *changes)
{
	struct policy *old = NULL, *new = NULL;
	int err = command_read_blob(changes->blob, &old);

	err = err ? err : command_read_blob(changes->next, &new);
	if (!err) {
		changes->changed = count_more(old, new) + count_more(new, old);
		for (size_t i = 0; i < old->n_addresses && i < new->n_addresses; i++)
			changes->changed += old->segments[old->addresses[i].segment].id !=
					    new->segments[new->addresses[i].segment].id;
	}
	policy_free(old);
	policy_free(new);
	return err;
}

int changes_prepare(struct bench *bench, struct node_changes *changes)
{
	struct report *report = &bench->report;
	double ms;
	int err = place_make(bench, 1, &changes->place);

	err = err ? err : place_ip("link add bench2 type veth peer name pod2\n");
	err = err ? err : compile(bench, changes);
	err = err ? err : count_changed(changes);
	err = err ? err
		  : command_run(bench, &ms, "%s/bulkhead load -n bench --pin %s %s", bench->build,
				changes->place.pin, changes->blob);
	changes->add = report_figure(report, "ms", "endpoint add, beside 150,000");
	changes->add_busy = report_figure(report, "ms", "endpoint add, of the processor");
	changes->add_writes = report_figure(report, "", "endpoint add: map writes");
	changes->start = report_figure(report, "ms", "of that, the command's start (help)");
	changes->del = report_figure(report, "ms", "endpoint del, beside 150,000");
	changes->local = report_figure(report, "ms", "endpoint add with an interface");
	changes->local_writes = report_figure(report, "", "the same: map writes");
	changes->links =
		report_figure(report, "ms", "of that, two TCX links (of a program that returns)");
	changes->filters = report_figure(report, "ms",
					 "beside it, a clsact qdisc and two filters (of the same)");
	changes->again_writes = report_figure(report, "", "no-op load: map writes");
	changes->change = report_figure(report, "ms", "load of one rule more, beside 150,000");
	changes->change_writes = report_figure(report, "", "the same: map writes");
	changes->change_each = report_figure(report, "", "the same: writes for each that changes");
	figure_target(changes->add, LIMIT_AT_MOST, 5);
	figure_target(changes->add_writes, LIMIT_AT_MOST, 10);
	figure_target(changes->local, LIMIT_AT_MOST, 5);
	figure_target(changes->local_writes, LIMIT_AT_MOST, 10);
	figure_target(changes->again_writes, LIMIT_AT_MOST, 0);
	return err;
}

static int add(struct bench *bench, struct node_changes *changes, const char *where,
	       struct figure *time, struct figure *writes)
{
	double ms, n;
	int err = command_run(bench, &ms,
			      "%s/bulkhead endpoint add -v --pin %s ns-0/more --labels app=app-1 "
			      "--ip 10.200.0.1,fd99::1 --mac 02:00:00:00:99:01 %s",
			      bench->build, changes->place.pin, where);

	err = err ? err : command_map_writes(bench, &n);
	if (err)
		return err;
	figure_add(time, ms);
	figure_add(writes, n);
	return 0;
}

static int del(struct bench *bench, struct node_changes *changes, double *ms)
{
	return command_run(bench, ms, "%s/bulkhead endpoint del --pin %s ns-0/more", bench->build,
			   changes->place.pin);
}

static double clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* Attaches by TCX links: the kernel waits for a grace period in each of these calls. */
static bool attach_links(int program, uint32_t ifindex, int links[2])
{
	const enum bpf_attach_type sides[] = {46, 47}; /* TCX ingress and egress, since Linux 6.6 */

	for (int i = 0; i < 2; i++)
		links[i] = bpf_link_create(program, ifindex, sides[i], NULL);
	return links[0] >= 0 && links[1] >= 0;
}

/* Attaches by filters, without a grace period. Removing the qdisc removes the filters as well. */
static bool attach_filters(int program, uint32_t ifindex)
{
	const enum bpf_tc_attach_point sides[] = {BPF_TC_INGRESS, BPF_TC_EGRESS};
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	bool done = !bpf_tc_hook_create(&hook);

	for (int i = 0; i < 2 && done; i++) {
		LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program, .priority = 1);

		hook.attach_point = sides[i];
		done = !bpf_tc_attach(&hook, &options);
	}
	return done;
}

static void detach_all(uint32_t ifindex, const int links[2])
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	bpf_tc_hook_destroy(&hook);
	for (int i = 0; i < 2; i++)
		if (links[i] >= 0)
			close(links[i]);
}

/* Measures how long the kernel takes to attach two programs that return at once, by links and by
 * filters. */
static void measure_attaching(struct node_changes *changes)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = -1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const uint32_t ifindex = if_nametoindex("bench2");
	int program = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "bench_returns", "GPL", instructions,
				    2, NULL);
	double begin = clock_ms();
	int links[2];

	if (program < 0)
		return;
	if (attach_links(program, ifindex, links))
		figure_add(changes->links, clock_ms() - begin);
	begin = clock_ms();
	if (attach_filters(program, ifindex))
		figure_add(changes->filters, clock_ms() - begin);
	detach_all(ifindex, links);
	close(program);
}

static int load(struct bench *bench, struct node_changes *changes, const char *blob, double *ms,
		double *writes)
{
	int err = command_run(bench, ms, "%s/bulkhead load -v --rollback -n bench --pin %s %s",
			      bench->build, changes->place.pin, blob);

	return err ? err : command_map_writes(bench, writes);
}

int changes_measure(struct bench *bench, struct node_changes *changes)
{
	double ms, removed, n, busy = command_processor_ms();
	int err = place_enter(&changes->place);

	err = err ? err : add(bench, changes, "--node worker-1", changes->add, changes->add_writes);
	busy = command_processor_ms() - busy;
	err = err ? err : command_run(bench, &ms, "%s/bulkhead help", bench->build);
	err = err ? err : del(bench, changes, &removed);
	if (err)
		return err;
	figure_add(changes->add_busy, busy);
	figure_add(changes->start, ms);
	figure_add(changes->del, removed);
	err = add(bench, changes, "--interface bench2", changes->local, changes->local_writes);
	err = err ? err : del(bench, changes, &ms);
	if (err)
		return err;
	measure_attaching(changes);
	err = load(bench, changes, changes->blob, &ms, &n);
	if (err)
		return err;
	figure_add(changes->again_writes, n);
	err = load(bench, changes, changes->next, &ms, &n);
	if (err)
		return err;
	figure_add(changes->change, ms);
	figure_add(changes->change_writes, n);
	figure_add(changes->change_each, n / changes->changed);
	return load(bench, changes, changes->blob, &ms, &n);
}
