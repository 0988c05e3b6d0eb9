// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resolves a name as programs do, by the C library that it is built with, and connects to each
 * address at once.
 *
 *   resolve NAME PORT WAIT [4|6]
 *
 * prints a line for each address, in the library's order: "ADDRESS ok" or, after WAIT ms, "ADDRESS
 * silent", or "ADDRESS refused"; "late" in place of "ok" where a SYN was lost on the way. Prints
 * "unknown" if there is no such name. It needs no other file of this tree, so that any C library
 * can build it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ADDRESSES_MAX 512

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Begins to connect. Returns the socket; -1: the address is refused at once. */
static int begin(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, at->ai_addr, at->ai_addrlen) && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static const char *end(int fd, short events)
{
	socklen_t size = sizeof(int);
	struct tcp_info info = {0};
	int error = 0;

	if (fd < 0)
		return "refused";
	if (!events)
		return "silent";
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) || error)
		return error == ETIMEDOUT ? "silent" : "refused";
	size = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		return "refused";
	return info.tcpi_total_retrans ? "late" : "ok";
}

static void print(const struct addrinfo *at, const char *result)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const void *address = at->ai_family == AF_INET
				      ? (const void *)&((struct sockaddr_in *)at->ai_addr)->sin_addr
				      : &((struct sockaddr_in6 *)at->ai_addr)->sin6_addr;

	inet_ntop(at->ai_family, address, text, sizeof(text));
	printf("%s %s\n", text, result);
}

/* Waits until each socket has connected or failed, or the time is over. */
static void wait_all(struct pollfd *sockets, short *ended, size_t n, long wait)
{
	long until = now_ms() + wait;

	for (size_t left = n; left;) {
		long time = until - now_ms();

		left = 0;
		if (poll(sockets, n, time > 0 ? time : 0) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < n; i++) {
			if (sockets[i].fd >= 0 && sockets[i].revents) {
				ended[i] = sockets[i].revents;
				sockets[i].fd = -1 - sockets[i].fd; /* poll() leaves it out */
			}
			left += sockets[i].fd >= 0;
		}
		if (time <= 0)
			return;
	}
}

static int run(const struct addrinfo *list, long wait)
{
	static const struct addrinfo *ats[ADDRESSES_MAX];
	static struct pollfd sockets[ADDRESSES_MAX];
	static short ended[ADDRESSES_MAX];
	static int fds[ADDRESSES_MAX];
	size_t n = 0;

	for (const struct addrinfo *at = list; at && n < ADDRESSES_MAX; at = at->ai_next, n++) {
		ats[n] = at;
		fds[n] = begin(at);
		sockets[n] = (struct pollfd){.fd = fds[n], .events = POLLOUT};
	}
	wait_all(sockets, ended, n, wait);
	for (size_t i = 0; i < n; i++)
		print(ats[i], end(fds[i], ended[i]));
	return 0;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;

	if (argc < 4) {
		fprintf(stderr, "usage: resolve NAME PORT WAIT [4|6]\n");
		return 2;
	}
	if (argc > 4)
		hints.ai_family = *argv[4] == '6' ? AF_INET6 : AF_INET;
	if (getaddrinfo(argv[1], argv[2], &hints, &list)) {
		printf("unknown\n");
		return 1;
	}
	return run(list, atol(argv[3]));
}
