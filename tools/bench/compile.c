// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the compiler's phases: reading, segments and reachability, writing the blob. Each
 * sample is a process of its own, so that none reuses another's memory. Times are processor
 * time: the compiler has one thread, and other processes do not count. Memory is the most that a
 * phase adds to what was there before. The cluster is the same in all formats, so each reading
 * is followed by a sample of the other phases.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "input/input.h"

static const char *const workloads[] = {"tenants", "apps", "same", "pairs", "companies"};
static const int scales[] = {12, 25, 50, 100};
static const char *const formats[] = {"yaml", "json", "ini"};
#define N_WORKLOADS 5
#define N_SCALES 4
#define N_FORMATS 3
/* attempts at the phases other than the whole compile, which are short and easily disturbed */
#define TRIES 3

enum phase { READ, COMPILE, WRITE, PHASES };

struct sample {
	double ms, mb;
};

static double processor_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* Returns a line of /proc/self/status, in MB. */
static double status_mb(const char *field)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	double kb = 0;

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, field, strlen(field)) == 0)
			kb = atof(line + strlen(field) + 1);
	if (status)
		fclose(status);
	return kb / 1024;
}

static struct sample begin(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	/* 5 resets the highest resident size to the present one. */
	if (fd < 0 || write(fd, "5", 1) != 1)
		abort();
	close(fd);
	return (struct sample){processor_ms(), status_mb("VmRSS")};
}

static struct sample since(struct sample begin)
{
	return (struct sample){processor_ms() - begin.ms, status_mb("VmHWM") - begin.mb};
}

static int run_phases(const char *path, struct sample samples[PHASES])
{
	struct diag diag = {.to = stderr};
	struct cluster cluster;
	struct policy *policy;
	struct sample start;
	void *blob;
	size_t size;
	int err;

	cluster_init(&cluster);
	start = begin();
	err = input_read(&cluster, path, &diag);
	err = err ? err : cluster_finish(&cluster, &diag);
	samples[READ] = since(start);
	if (err)
		return err;

	start = begin();
	err = compile_cluster(&cluster, NULL, &diag, &policy);
	samples[COMPILE] = since(start);
	if (err)
		return err;

	start = begin();
	err = blob_write(policy, &blob, &size);
	samples[WRITE] = since(start);
	return err;
}

static int in_child(const char *path, struct sample samples[PHASES])
{
	int fds[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		int err = run_phases(path, samples);
		size_t size = PHASES * sizeof(*samples);

		_exit(!err && write(fds[1], samples, size) == (ssize_t)size ? 0 : 1);
	}
	close(fds[1]);
	got = read(fds[0], samples, PHASES * sizeof(*samples));
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || status ||
	    got != (ssize_t)(PHASES * sizeof(*samples))) {
		fprintf(stderr, "%s: could not be measured\n", path);
		return -EIO;
	}
	return 0;
}

/* `bulkhead compile`, as a user runs it. */
static int run_command(const struct bench *bench, const char *path, struct sample *sample)
{
	char command[BENCH_PATH];
	struct rusage usage;
	int status;
	pid_t pid;

	snprintf(command, sizeof(command), "%s/bulkhead", bench->build);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execl(command, command, "compile", "-o", "/dev/null", path, NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status) {
		fprintf(stderr, "%s compile %s: failed\n", command, path);
		return -EIO;
	}
	sample->ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
		     (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
	sample->mb = usage.ru_maxrss / 1024.0;
	return 0;
}

struct figures {
	struct figure *ms, *mb;
};

static struct figures figures_add(struct report *report, const char *workload, const char *what,
				  const char *how)
{
	return (struct figures){
		report_figure(report, "ms", "%s: %s, %s", workload, what, how),
		report_figure(report, "MB", "%s: %s, %s", workload, what, how),
	};
}

/* @again: another attempt of the same round. The shortest time counts, and the memory of the
 * first. */
static void figures_sample(const struct figures *figures, struct sample sample, bool again)
{
	if (again) {
		figure_least(figures->ms, sample.ms);
	} else {
		figure_add(figures->ms, sample.ms);
		figure_add(figures->mb, sample.mb);
	}
}

struct workload {
	const char *name;
	char paths[N_SCALES][BENCH_PATH], texts[N_FORMATS][BENCH_PATH];
	struct figures read[N_FORMATS], compile[N_SCALES], write, command;
};

static int prepare(struct bench *bench, struct workload *workload)
{
	struct report *report = &bench->report;
	char arguments[64];
	int err = 0;

	for (int i = 0; i < N_SCALES && !err; i++) {
		snprintf(arguments, sizeof(arguments), "%s %d", workload->name, scales[i]);
		err = bench_workload(bench, arguments, "ini", workload->paths[i]);
	}
	for (int i = 0; i < N_FORMATS && !err; i++) {
		snprintf(arguments, sizeof(arguments), "%s 100", workload->name);
		err = bench_workload(bench, arguments, formats[i], workload->texts[i]);
		workload->read[i] = figures_add(report, workload->name, "read", formats[i]);
	}
	for (int i = N_SCALES - 1; i >= 0; i--) {
		snprintf(arguments, sizeof(arguments), "%d %%", scales[i]);
		workload->compile[i] =
			figures_add(report, workload->name, "segments and reachability", arguments);
	}
	workload->write = figures_add(report, workload->name, "write", "blob");
	workload->command = figures_add(report, workload->name, "the whole command", "yaml");
	figure_target(workload->compile[N_SCALES - 1].ms, LIMIT_AT_MOST, 1000);
	figure_target(workload->compile[N_SCALES - 1].mb, LIMIT_AT_MOST, 300);
	return err;
}

static int measure(struct bench *bench, struct workload *workload)
{
	struct sample samples[PHASES];
	int err;

	for (int i = 0; i < (N_SCALES - 1) * TRIES; i++) {
		err = in_child(workload->paths[i / TRIES], samples);
		if (err)
			return err;
		figures_sample(&workload->compile[i / TRIES], samples[COMPILE], i % TRIES);
	}
	for (int i = 0; i < N_FORMATS; i++) {
		err = in_child(workload->texts[i], samples);
		if (err)
			return err;
		figures_sample(&workload->read[i], samples[READ], false);
		figures_sample(&workload->compile[N_SCALES - 1], samples[COMPILE], i);
		figures_sample(&workload->write, samples[WRITE], i);
	}
	err = run_command(bench, workload->texts[0], &samples[0]);
	if (!err)
		figures_sample(&workload->command, samples[0], false);
	return err;
}

static double n_log_n(const char *path)
{
	struct stat status;

	return stat(path, &status) ? 0 : status.st_size * log(status.st_size);
}

/* Reports by which power of the input's size n, in bytes, the time grows: from each size to the
 * next, and over all. */
static void growth(struct report *report, const struct workload *workload)
{
	const int last = N_SCALES - 1;

	for (int i = 1; i < N_SCALES; i++)
		report_ratio(report, workload->compile[i].ms, workload->compile[i - 1].ms,
			     "%s: growth from %d to %d %%", workload->name, scales[i - 1],
			     scales[i]);
	figure_target(report_ratio(report, workload->compile[last].ms, workload->compile[0].ms,
				   "%s: growth from %d to %d %% (n log n)", workload->name,
				   scales[0], scales[last]),
		      LIMIT_AT_MOST, n_log_n(workload->paths[last]) / n_log_n(workload->paths[0]));
}

int bench_compile(struct bench *bench)
{
	static struct workload work[N_WORKLOADS];
	int err = 0;

	for (int i = 0; i < N_WORKLOADS && !err; i++) {
		work[i].name = workloads[i];
		err = prepare(bench, &work[i]);
	}
	if (!err)
		figure_target(work[0].command.ms, LIMIT_AT_MOST, 5000);
	for (unsigned int round = 0; round < bench->rounds && !err; round++)
		for (int i = 0; i < N_WORKLOADS && !err; i++)
			err = measure(bench, &work[i]);
	for (int i = 0; i < N_WORKLOADS && !err; i++)
		growth(&bench->report, &work[i]);
	return err;
}
