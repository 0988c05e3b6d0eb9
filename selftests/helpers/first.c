// SPDX-License-Identifier: GPL-2.0-only
/*
 * A container's process that sends UDP from its first instruction on and counts what it receives.
 *
 *   first SECONDS/1000 ALLOWED DENIED ADDRESS...
 *
 * For so long, and for 20 s more at most until it has heard something and its own packets have left
 * the host, it sends to both ports of each address, and counts what it gets at both; SIGTERM ends
 * that. Then it prints "sent N allowed N denied N after N ms", the last three of what it heard: the
 * last when it first heard something allowed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define PATIENCE_MS 20000

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int listen_at(int port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		helper_die("listen");
	return fd;
}

static unsigned long drain(int fd)
{
	unsigned long n = 0;
	char datagram[64];

	while (recv(fd, datagram, sizeof(datagram), 0) >= 0)
		n++;
	return n;
}

/* Sends from the receiving socket, so that the peer can reply. */
static void send_to(int fd, const char *address, int port, unsigned long *sent)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "::ffff:%s", address);
	if (inet_pton(AF_INET6, address, &to.sin6_addr) != 1 &&
	    inet_pton(AF_INET6, mapped, &to.sin6_addr) != 1)
		helper_die(address);
	*sent += sendto(fd, "?", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1;
}

/* Packets wait in the host while it asks for its neighbour's MAC. To be called some time after the
 * last of them was sent: what is sent to a neighbour without an answer waits anew. */
static bool all_have_left(const int *fds)
{
	int waiting[2] = {0};

	for (int i = 0; i < 2; i++)
		if (ioctl(fds[i], SIOCOUTQ, &waiting[i]))
			helper_die("SIOCOUTQ");
	return !waiting[0] && !waiting[1];
}

int main(int argc, char **argv)
{
	unsigned long sent = 0, heard[2] = {0};
	int ports[2], fds[2];
	bool left = false;
	long began, until, first = -1;

	if (argc < 5) {
		fprintf(stderr, "usage: first MILLISECONDS ALLOWED DENIED ADDRESS...\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	helper_stop_on_term();
	began = milliseconds();
	until = began + atoi(argv[1]);
	for (int i = 0; i < 2; i++) {
		ports[i] = atoi(argv[2 + i]);
		fds[i] = listen_at(ports[i]);
	}
	while (!helper_stopped &&
	       milliseconds() < until + (left && heard[0] + heard[1] ? 0 : PATIENCE_MS)) {
		for (int i = 0; i < 2; i++)
			for (int j = 4; j < argc; j++)
				send_to(fds[i], argv[j], ports[i], &sent);
		poll(NULL, 0, 1);
		left = all_have_left(fds);
		heard[0] += drain(fds[0]);
		heard[1] += drain(fds[1]);
		if (first < 0 && heard[0])
			first = milliseconds() - began;
	}
	printf("sent %lu allowed %lu denied %lu after %ld ms\n", sent, heard[0], heard[1], first);
	return fflush(stdout) ? 2 : 0;
}
