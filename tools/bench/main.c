// SPDX-License-Identifier: GPL-2.0-only
/* bench PART BUILD: measures one part with the programs in the folder BUILD. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 7

static const struct {
	const char *name;
	int (*run)(struct bench *bench);
} parts[] = {
	{"compile", bench_compile}, {"packet", bench_packet}, {"steady", bench_steady},
	{"wire", bench_wire},	    {"uplink", bench_uplink}, {"load", bench_load},
	{"delta", bench_delta},
};

int bench_workload(const struct bench *bench, const char *workload, const char *format,
		   char path[BENCH_PATH])
{
	char command[2 * BENCH_PATH + 128], *name;

	snprintf(path, BENCH_PATH, "%s/bench/%s.%s", bench->build, workload, format);
	for (name = path + strlen(bench->build) + 1; *name; name++)
		if (*name == ' ')
			*name = '-';
	snprintf(command, sizeof(command), "%s/workload %s %s >%s", bench->build, workload, format,
		 path);
	return system(command) ? -EIO : 0;
}

static unsigned int rounds_wanted(void)
{
	const char *text = getenv("ROUNDS");
	int rounds = text ? atoi(text) : ROUNDS;

	return rounds < 1 ? 1 : rounds > REPORT_ROUNDS ? REPORT_ROUNDS : rounds;
}

static int remove_pin(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

static void clean(const struct bench *bench)
{
	char pattern[64];
	glob_t pins;

	snprintf(pattern, sizeof(pattern), "%s-*", bench->pin);
	if (glob(pattern, 0, NULL, &pins) == 0)
		for (size_t i = 0; i < pins.gl_pathc; i++)
			nftw(pins.gl_pathv[i], remove_pin, 8, FTW_DEPTH | FTW_PHYS);
	globfree(&pins);
}

void bench_alone(void)
{
	struct sched_param parameter = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter))
		perror("real-time scheduling");
}

static pid_t child;

static void stop(int signal)
{
	(void)signal;
	kill(child, SIGKILL);
}

/* Runs a part in a process of its own. Its namespaces end with the process; its pins are removed
 * in any case. */
static int run(struct bench *bench, int (*part)(struct bench *bench))
{
	struct sigaction action = {.sa_handler = stop};
	int status;

	snprintf(bench->pin, sizeof(bench->pin), "/sys/fs/bpf/bhbench-%d", getpid());
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpriority(PRIO_PROCESS, 0, -20); /* other processes wait as far as possible */
		exit(part(bench) || report_finish(&bench->report) ? 1 : 0);
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	clean(bench);
	if (WIFSIGNALED(status))
		fprintf(stderr, "bench: %s: %s\n", bench->report.part, strsignal(WTERMSIG(status)));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	char folder[BENCH_PATH];

	if (argc != 3) {
		fprintf(stderr, "usage: bench PART BUILD\n");
		return 2;
	}
	snprintf(folder, sizeof(folder), "%s/bench", argv[2]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct bench bench = {.build = argv[2],
				      .rounds = rounds_wanted(),
				      .report = {.part = parts[i].name, .folder = folder}};

		if (strcmp(argv[1], parts[i].name) == 0)
			return run(&bench, parts[i].run);
	}
	fprintf(stderr, "bench: there is no part %s\n", argv[1]);
	return 2;
}
