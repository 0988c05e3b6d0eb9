// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/own_process.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void stop(int signal)
{
	(void)signal;
	kill(child, SIGKILL);
}

static int remove_pin(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

static int await_child(void)
{
	struct sigaction action = {.sa_handler = stop};
	int status;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

int own_process_run(int (*test)(const char *pin))
{
	char pin[64];
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..1\n");
	if (geteuid()) {
		printf("ok 1 - # SKIP needs root\n");
		return 4;
	}
	snprintf(pin, sizeof(pin), "/sys/fs/bpf/bhtest-%d", getpid());
	child = unshare(CLONE_NEWNET) ? -1 : fork();
	if (child < 0) {
		printf("not ok 1 - no namespace or process: %s\n", strerror(errno));
		return 1;
	}
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(test(pin));
	}
	status = await_child();
	/* The interfaces vanish with their namespaces. */
	nftw(pin, remove_pin, 8, FTW_DEPTH | FTW_PHYS);
	if (!WIFEXITED(status)) {
		printf("not ok 1 - the test died of signal %d\n", WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}
