// SPDX-License-Identifier: GPL-2.0-only
/*
 * Servers that say which of them answers, for what is translated on its way.
 *
 *   backend serve NAME PORT...           answers every TCP connection and every datagram with
 *                                        "NAME from ADDRESS", the caller's address as it came
 *
 *   backend ask tcp|udp ADDRESS PORT WAIT COUNT
 *                                        asks COUNT times at once, each from a socket of its own,
 *                                        and prints a line for each: the answer, "refused", or
 *                                        "silent" after WAIT ms
 *
 * `serve` prints "ready" once it listens, and ends with the process that started it.
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

#define MAX_SOCKETS 64
#define MAX_ANSWER 128

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int listen_on(int type, uint16_t port)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die("bind");
	if (type == SOCK_STREAM && listen(fd, 128))
		die("listen");
	return fd;
}

static int tell(char *answer, const char *name, const struct sockaddr_in6 *caller)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &caller->sin6_addr, text, sizeof(text));
	return snprintf(answer, MAX_ANSWER, "%s from %s", name,
			strncmp(text, "::ffff:", 7) ? text : text + 7);
}

static void answer_tcp(int fd, const char *name)
{
	struct sockaddr_in6 caller;
	socklen_t length = sizeof(caller);
	int connection = accept4(fd, (struct sockaddr *)&caller, &length, SOCK_CLOEXEC);
	char answer[MAX_ANSWER];

	if (connection < 0)
		return;
	send(connection, answer, tell(answer, name, &caller), MSG_NOSIGNAL);
	close(connection);
}

/* From the address that was asked: the host may have several. */
static void answer_udp(int fd, const char *name)
{
	char answer[MAX_ANSWER], control[256];
	struct sockaddr_in6 caller;
	struct iovec part = {answer, sizeof(answer)};
	struct msghdr message = {.msg_name = &caller,
				 .msg_namelen = sizeof(caller),
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};

	if (recvmsg(fd, &message, 0) < 0)
		return;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_type == IPV6_PKTINFO)
			((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_ifindex = 0;
	part.iov_len = tell(answer, name, &caller);
	sendmsg(fd, &message, 0);
}

static _Noreturn void serve(const char *name, char **ports, int n)
{
	struct pollfd fds[MAX_SOCKETS];
	int count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < n && count + 2 <= MAX_SOCKETS; i++) {
		fds[count++] = (struct pollfd){listen_on(SOCK_STREAM, atoi(ports[i])), POLLIN, 0};
		fds[count++] = (struct pollfd){listen_on(SOCK_DGRAM, atoi(ports[i])), POLLIN, 0};
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (poll(fds, count, -1) < 0 && errno != EINTR)
			die("poll");
		/* TCP and UDP take turns in the array. */
		for (int i = 0; i < count; i++) {
			if (!(fds[i].revents & POLLIN))
				continue;
			if (i % 2)
				answer_udp(fds[i].fd, name);
			else
				answer_tcp(fds[i].fd, name);
		}
	}
}

/* A socket that has asked, or is about to: a datagram is the question, and so is a connection. */
static int ask_one(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS)
		return fd;
	if (to->ai_socktype == SOCK_DGRAM)
		send(fd, "?", 1, 0);
	return fd;
}

static void print_answer(int fd)
{
	char answer[MAX_ANSWER];
	ssize_t length = recv(fd, answer, sizeof(answer), 0);

	if (length > 0)
		printf("%.*s\n", (int)length, answer);
	else
		puts("refused");
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int ask(int type, const char *address, const char *port, int wait, int count)
{
	struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_NUMERICHOST}, *to;
	struct pollfd fds[MAX_SOCKETS];
	long end = now() + wait, left;
	int open = count;

	if (count > MAX_SOCKETS || getaddrinfo(address, port, &hints, &to)) {
		fprintf(stderr, "%s: no address, or more than %d times\n", address, MAX_SOCKETS);
		return 2;
	}
	for (int i = 0; i < count; i++)
		fds[i] = (struct pollfd){ask_one(to), POLLIN, 0};
	while (open && (left = end - now()) > 0 && poll(fds, count, left) > 0) {
		for (int i = 0; i < count; i++) {
			if (!fds[i].revents)
				continue;
			print_answer(fds[i].fd);
			close(fds[i].fd);
			fds[i].fd = -1;
			open--;
		}
	}
	while (open--)
		puts("silent");
	freeaddrinfo(to);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "serve"))
		serve(argv[2], argv + 3, argc - 3);
	if (argc == 7 && !strcmp(argv[1], "ask"))
		return ask(strcmp(argv[2], "tcp") ? SOCK_DGRAM : SOCK_STREAM, argv[3], argv[4],
			   atoi(argv[5]), atoi(argv[6]));
	fprintf(stderr, "usage: backend serve NAME PORT...\n"
			"       backend ask tcp|udp ADDRESS PORT WAIT COUNT\n");
	return 2;
}
