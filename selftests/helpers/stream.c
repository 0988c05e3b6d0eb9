// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steady UDP, counted at both ends until SIGTERM, which prints "PORT COUNT" lines.
 *
 *   stream recv PORT...
 *   stream send ADDRESS PORT...    a datagram to each port about every millisecond, and where
 *                                  BULKHEAD_SMALL says that the machine is slow, every ten;
 *                                  PORT@ADDRESS names another address, PORT@ADDRESS,SOURCE its own
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MAX_PORTS 16
#define LAST_MS 700 /* more than a busy machine takes to deliver a datagram */

static struct addrinfo *find(const char *address, const char *port)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
	struct addrinfo *found;

	if (getaddrinfo(address, port, &hints, &found)) {
		fprintf(stderr, "%s is no address\n", address);
		exit(2);
	}
	return found;
}

static int open_sender(const char *address, const char *port)
{
	char text[128], *at, *own = NULL;
	struct addrinfo *to;
	int fd;

	snprintf(text, sizeof(text), "%s", port);
	at = strchr(text, '@');
	if (at) {
		*at = 0;
		address = at + 1;
		own = strchr(at + 1, ',');
	}
	if (own)
		*own++ = 0;
	to = find(address, text);
	fd = socket(to->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		helper_die("socket");
	if (own && bind(fd, find(own, NULL)->ai_addr, to->ai_addrlen))
		helper_die(own);
	if (connect(fd, to->ai_addr, to->ai_addrlen))
		helper_die(port);
	return fd;
}

/* Opens a socket for IPv4 and IPv6, every address, and every multicast group of the host. */
static int open_receiver(const char *port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), capacity = 1 << 24;

	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &capacity, sizeof(capacity));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &(int){1}, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		helper_die(port);
	return fd;
}

/* Returns true if a datagram came within @wait ms. */
static bool receive(struct pollfd *fds, int n, unsigned long *counts, int wait)
{
	char byte;

	if (poll(fds, n, wait) <= 0)
		return false;
	for (int i = 0; i < n; i++)
		while (recv(fds[i].fd, &byte, 1, 0) == 1)
			counts[i]++;
	return true;
}

static void send_round(struct pollfd *fds, int n, unsigned long *counts)
{
	const struct timespec pause = {
		.tv_nsec = getenv("BULKHEAD_SMALL") ? 10000000 : 1000000,
	};

	/*
	 * The first send() may report an ICMP error of an earlier datagram: the second one sends.
	 */
	for (int i = 0; i < n; i++)
		if (send(fds[i].fd, "?", 1, 0) == 1 || send(fds[i].fd, "?", 1, 0) == 1)
			counts[i]++;
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	int receives = argc > 2 && !strcmp(argv[1], "recv");
	char **ports = argv + (receives ? 2 : 3);
	int n = argc - (receives ? 2 : 3);
	unsigned long counts[MAX_PORTS] = {};
	struct pollfd fds[MAX_PORTS];

	if (n < 1 || n > MAX_PORTS)
		return fprintf(stderr,
			       "usage: stream recv PORT... | stream send ADDRESS PORT...\n"),
		       2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	helper_stop_on_term();
	for (int i = 0; i < n; i++)
		fds[i] = (struct pollfd){receives ? open_receiver(ports[i])
						  : open_sender(argv[2], ports[i]),
					 POLLIN, 0};
	helper_ready();
	while (!helper_stopped) {
		if (receives)
			receive(fds, n, counts, 100);
		else
			send_round(fds, n, counts);
	}
	/* Datagrams that were sent before the signal are still on their way. */
	while (receives && receive(fds, n, counts, LAST_MS))
		;
	for (int i = 0; i < n; i++)
		printf("%s %lu\n", ports[i], counts[i]);
	return 0;
}
