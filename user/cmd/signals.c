// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "cmd/command.h"
#include "cmd/signals.h"

int signals_open(void)
{
	sigset_t ends;
	int fd, error;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	fd = signalfd(-1, &ends, SFD_CLOEXEC);
	if (fd >= 0)
		return fd;
	error = -errno;
	command_error("cannot wait for signals: %s", strerror(-error));
	return error;
}
