// SPDX-License-Identifier: GPL-2.0-only
#include "node/kernel/folder_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>

/* Seconds before a command says that it waits: only the first load of a large policy takes longer.
 */
#define PATIENCE 10

/* Returns the process that has the lock of @fd; 0: the kernel does not tell, as of a process in
 * another PID namespace. */
static int find_holder(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	SCOPED_FREE char *line = NULL;
	struct stat folder;
	size_t size = 0;
	int found = 0;

	while (locks && !found && !fstat(fd, &folder) && getline(&line, &size, locks) > 0) {
		uint64_t inode;
		int holder;

		/* a line with an arrow is of a process that waits */
		if (!strstr(line, "->") &&
		    sscanf(line, "%*d: FLOCK %*s %*s %d %*x:%*x:%" SCNu64, &holder, &inode) == 2 &&
		    inode == folder.st_ino)
			found = holder;
	}
	if (locks)
		fclose(locks);
	return found > 0 ? found : 0;
}

static void read_name(int process, char name[32])
{
	char path[64];
	FILE *file;

	strcpy(name, "?");
	snprintf(path, sizeof(path), "/proc/%d/comm", process);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, 32, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

/* A container runtime ends a plugin that takes too long, and passes on what the plugin has written
 * to standard error by then. */
static void tell(const struct node_handle *handle, int fd)
{
	struct diag at_once = {.to = stderr};
	struct diag *diag = handle->options->tells_at_once ? &at_once : handle->diag;
	const int holder = find_holder(fd);
	char name[32];

	if (holder) {
		read_name(holder, name);
		diag_note(diag, NULL, NULL, "waits for process %d (%s), which has the lock of %s",
			  holder, name, handle->pin);
	} else {
		diag_note(diag, NULL, NULL, "waits for another process, which has the lock of %s",
			  handle->pin);
	}
	if (diag->to)
		fflush(diag->to);
}

/* Interrupts the wait. */
static void wake(int signal)
{
	(void)signal;
}

int folder_lock(const struct node_handle *handle, int fd)
{
	const struct itimerval patience = {.it_value.tv_sec = PATIENCE}, none = {};
	struct sigaction action = {.sa_handler = wake}, before;
	int error;

	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return -errno;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &patience, NULL);
	error = flock(fd, LOCK_EX) ? -errno : 0;
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	if (error != -EINTR)
		return error;
	tell(handle, fd);
	return flock(fd, LOCK_EX) ? -errno : 0;
}
