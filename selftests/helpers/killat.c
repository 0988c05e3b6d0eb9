// SPDX-License-Identifier: GPL-2.0-only
/*
 * killat N COMMAND...: runs a command and kills it (SIGKILL) as it is about to make the Nth system
 * call that changes state, counting from 1: bpf(2) that writes, pins, attaches or runs a program,
 * netlink, and changes of folders. `killat all N` counts every system call.
 *
 * Exit status: 99 where it was killed, else the command's own.
 */
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED 99

static bool changes_state(uint64_t call, uint64_t first)
{
	switch (call) {
	case SYS_bpf:
		switch (first) {
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
	case SYS_membarrier: /* what is stored to mapped maps is stored before these, and after */
		return true;
	}
	return false;
}

static int trace(pid_t child, long at, bool all)
{
	struct __ptrace_syscall_info info;
	long count = 0;
	int status;

	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) || waitpid(child, &status, 0) < 0)
			return 1;
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) < 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if ((all || changes_state(info.entry.nr, info.entry.args[0])) && ++count == at) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return KILLED;
		}
	}
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && !strcmp(argv[1], "all");
	pid_t child;

	argv += 1 + all;
	argc -= 1 + all;
	if (argc < 2) {
		fprintf(stderr, "usage: killat [all] N COMMAND...\n");
		return 2;
	}
	child = fork();
	if (child < 0) {
		perror("fork");
		return 2;
	}
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	return trace(child, atol(argv[0]), all);
}
