// SPDX-License-Identifier: GPL-2.0-only
/*
 * fault LOG WHICH N WHAT COMMAND...
 *
 * Runs a command and injects a fault at the Nth system call that counts, from 1 (0: no fault):
 *   kill       SIGKILL before it is made
 *   NUMBER     it is not made and fails with that errno
 * WHICH of them count:
 *   state      those that change state: bpf(2) that writes, pins, attaches or runs a program,
 *              netlink, and changes of folders
 *   bpf        every bpf(2)
 *   generic    socket(2) of generic netlink
 *   all        every one
 * N may be a path instead, with a slash: each call fails that counts while the file exists.
 * LOG gets a line for each that counted, up to the fault: its number, or "bpf" and the number of
 * its command.
 *
 * Exit status: 99 where the command was killed, else the command's own.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define KILLED 99

struct fault {
	bool bpf_only, generic, all;
	long at;
	const char *file; /* NULL: the fault is at a number */
	int error; /* 0: kill */
	FILE *log;
};

static bool changes_state(const struct seccomp_data *call)
{
	switch (call->nr) {
	case SYS_bpf:
		switch (call->args[0]) {
		case BPF_MAP_UPDATE_ELEM:
		case BPF_MAP_DELETE_ELEM:
		case BPF_MAP_UPDATE_BATCH:
		case BPF_OBJ_PIN:
		case BPF_LINK_CREATE:
		case BPF_LINK_UPDATE:
		case BPF_PROG_TEST_RUN:
			return true;
		}
		return false;
	case SYS_sendto: /* netlink */
	case SYS_sendmsg:
	case SYS_unlink:
	case SYS_rename:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_membarrier: /* orders stores to memory-mapped maps */
		return true;
	}
	return false;
}

static bool counts(const struct fault *fault, const struct seccomp_data *call)
{
	if (fault->generic)
		return call->nr == SYS_socket && call->args[0] == AF_NETLINK &&
		       call->args[2] == NETLINK_GENERIC;
	return fault->all || (fault->bpf_only ? call->nr == SYS_bpf : changes_state(call));
}

/* Makes the kernel report each later system call of this process and hold it until answered. */
static int ask_about_calls(void)
{
	struct sock_filter filter = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog program = {1, &filter};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       &program);
}

/*
 * The child shares the open files until exec, so that the parent gets the child's seccomp listener.
 */
static pid_t start(char **command, int *listener)
{
	atomic_int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (shared == MAP_FAILED)
		helper_die("mmap");
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child < 0)
		helper_die("clone");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		atomic_store(shared, ask_about_calls());
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	while (!(*listener = atomic_load(shared)))
		sched_yield();
	if (*listener < 0)
		helper_die("seccomp");
	return child;
}

static void write_down(FILE *log, const struct seccomp_data *call)
{
	if (call->nr == SYS_bpf)
		fprintf(log, "bpf %d\n", (int)call->args[0]);
	else
		fprintf(log, "%d\n", call->nr);
}

/* Answers one system call. Returns false if the command was killed. */
static bool answer(const struct fault *fault, int listener, pid_t child, long *count)
{
	struct seccomp_notif call = {};
	struct seccomp_notif_resp response = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return errno == EINTR || errno == ENOENT;
	response.id = call.id;
	if (fault->file && counts(fault, &call.data) && !access(fault->file, F_OK)) {
		response.flags = 0;
		response.error = -fault->error;
	} else if (counts(fault, &call.data) && (!fault->at || *count < fault->at)) {
		write_down(fault->log, &call.data);
		++*count;
		if (*count == fault->at && !fault->error) {
			kill(child, SIGKILL);
			return false;
		}
		if (*count == fault->at) {
			response.flags = 0;
			response.error = -fault->error;
		}
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	return true;
}

static int run(const struct fault *fault, char **command)
{
	/*
	 * The listener's POLLHUP tells that the command has ended; before 6.11 only after
	 * waitpid().
	 */
	struct pollfd pollers[2] = {{.events = POLLIN}, {.events = POLLIN}};
	pid_t child = start(command, &pollers[0].fd);
	bool killed = false;
	long count = 0;
	int status;

	pollers[1].fd = syscall(SYS_pidfd_open, child, 0);
	if (pollers[1].fd < 0)
		helper_die("pidfd_open");
	while (!killed && poll(pollers, 2, -1) > 0 && pollers[0].revents & POLLIN)
		killed = !answer(fault, pollers[0].fd, child, &count);
	if (waitpid(child, &status, 0) < 0)
		helper_die("waitpid");
	fclose(fault->log);
	if (killed)
		return KILLED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct fault fault = {};

	if (argc < 6) {
		fprintf(stderr,
			"usage: fault LOG state|bpf|generic|all N|FILE kill|ERRNO COMMAND...\n");
		return 2;
	}
	fault.log = fopen(argv[1], "we");
	if (!fault.log)
		helper_die(argv[1]);
	fault.all = !strcmp(argv[2], "all");
	fault.bpf_only = !strcmp(argv[2], "bpf");
	fault.generic = !strcmp(argv[2], "generic");
	fault.at = atol(argv[3]);
	fault.file = strchr(argv[3], '/') ? argv[3] : NULL;
	fault.error = atoi(argv[4]);
	return run(&fault, argv + 5);
}
