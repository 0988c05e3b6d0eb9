// SPDX-License-Identifier: GPL-2.0-only
/*
 * A link without Ethernet headers: a tun interface in each of two network namespaces; this process
 * passes the packets between them.
 *
 *   tunnel NAMESPACE NAMESPACE INTERFACE
 *
 * Prints "ready" once both interfaces exist, and ends with the process that started it.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The interface belongs to the namespace in which the device was opened. */
static int open_end(const char *namespace, const char *interface)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int there = open(namespace, O_RDONLY | O_CLOEXEC), fd = -1;

	strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
	if (there >= 0 && !setns(there, CLONE_NEWNET))
		fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) {
		perror(namespace);
		exit(2);
	}
	close(there);
	return fd;
}

int main(int argc, char **argv)
{
	static char packet[65536];
	struct pollfd ends[2];
	ssize_t n;

	if (argc != 4)
		return fprintf(stderr, "usage: tunnel NAMESPACE NAMESPACE INTERFACE\n"), 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 2; i++)
		ends[i] = (struct pollfd){open_end(argv[1 + i], argv[3]), POLLIN, 0};
	puts("ready");
	fflush(stdout);
	while (poll(ends, 2, -1) > 0) {
		for (int i = 0; i < 2; i++) {
			if (!(ends[i].revents & POLLIN))
				continue;
			n = read(ends[i].fd, packet, sizeof(packet));
			/* An interface that is down refuses packets: they are lost. */
			if (n > 0 && write(ends[!i].fd, packet, n) != n)
				continue;
		}
	}
	return 1;
}
