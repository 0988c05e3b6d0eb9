// SPDX-License-Identifier: GPL-2.0-only
/*
 * Servers that say which of them answers, for tests of address translation.
 *
 *   backend serve NAME PORT...           answers every TCP connection, everything that comes over
 *                                        one, and every datagram with "NAME from ADDRESS", the
 *                                        caller's address as it came
 *
 *   backend ask tcp|udp ADDRESS PORT WAIT COUNT
 *                                        asks COUNT times at once, each from a socket of its own,
 *                                        by UDP again each second, and prints a line for each: the
 *                                        answer, "refused", or "silent" after WAIT ms
 *
 *   backend hold tcp|udp ADDRESS PORT WAIT
 *                                        asks over one socket for each line it reads, a number,
 *                                        and prints the answer, or "silent" after so many ms
 *
 *   backend connect tcp|udp ADDRESS PORT WAIT
 *                                        the same, though nobody has answered yet
 *
 * ADDRESS may be a name. `serve` prints "ready" once it listens, `hold` once it is answered,
 * `connect` once its socket is connected. They end with the process that started them.
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

#define MAX_PORTS 8
#define MAX_SOCKETS 512
#define MAX_ANSWER 128
#define REPEAT 1000 /* ms after which an unanswered datagram is sent again */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int tell(char *answer, const char *name, const struct sockaddr_in6 *caller)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &caller->sin6_addr, text, sizeof(text));
	return snprintf(answer, MAX_ANSWER, "%s from %s", name,
			strncmp(text, "::ffff:", 7) ? text : text + 7);
}

/* Returns true if the connection stays open. */
static bool answer_tcp(int fd, const char *name)
{
	struct sockaddr_in6 caller;
	socklen_t length = sizeof(caller);
	char answer[MAX_ANSWER];

	if (getpeername(fd, (struct sockaddr *)&caller, &length))
		return false;
	return send(fd, answer, tell(answer, name, &caller), MSG_NOSIGNAL) > 0;
}

static void answer_udp(int fd, const char *name)
{
	struct helper_datagram question;
	char answer[MAX_ANSWER];

	if (helper_take(fd, &question))
		helper_answer(fd, &question, answer, tell(answer, name, &question.from));
}

/* Accepts a connection into the first free place. */
static void welcome(struct pollfd *fds, int listener, const char *name)
{
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC), i = 0;

	if (connection < 0)
		return;
	while (i < MAX_SOCKETS && fds[i].fd >= 0)
		i++;
	if (i < MAX_SOCKETS && answer_tcp(connection, name))
		fds[i] = (struct pollfd){connection, POLLIN, 0};
	else
		close(connection);
}

static void converse(struct pollfd *connection, const char *name)
{
	char question[MAX_ANSWER];

	if (recv(connection->fd, question, sizeof(question), 0) > 0 &&
	    answer_tcp(connection->fd, name))
		return;
	close(connection->fd);
	connection->fd = -1;
}

/* @fds: listeners first, TCP and UDP alternating, then connections. */
static _Noreturn void serve(const char *name, char **ports, int n)
{
	struct pollfd fds[MAX_SOCKETS];
	int listeners = 2 * n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < MAX_SOCKETS; i++) {
		fds[i] = (struct pollfd){-1, POLLIN, 0};
		if (i < listeners)
			fds[i].fd =
				helper_listen(i % 2 ? SOCK_DGRAM : SOCK_STREAM, atoi(ports[i / 2]));
	}
	helper_ready();
	for (;;) {
		if (poll(fds, MAX_SOCKETS, -1) < 0 && errno != EINTR)
			die("poll");
		for (int i = 0; i < MAX_SOCKETS; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			if (i >= listeners)
				converse(&fds[i], name);
			else if (i % 2)
				answer_udp(fds[i].fd, name);
			else
				welcome(fds, fds[i].fd, name);
		}
	}
}

/* Opens a socket and sends the question: over TCP the connection itself, over UDP a datagram. */
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

/* Resolves the name to its first address. */
static struct addrinfo *find(int type, const char *address, const char *port)
{
	struct addrinfo hints = {.ai_socktype = type}, *to;

	if (!getaddrinfo(address, port, &hints, &to))
		return to;
	puts("unknown");
	exit(1);
}

/* Returns how many sockets got an answer or were refused. */
static int hear(struct pollfd *fds, int count)
{
	int over = 0;

	for (int i = 0; i < count; i++) {
		if (fds[i].fd < 0 || !fds[i].revents)
			continue;
		print_answer(fds[i].fd);
		close(fds[i].fd);
		fds[i].fd = -1;
		over++;
	}
	return over;
}

/* Asks again, as clients do: kube-proxy may take the translation away before the first answer. */
static void repeat(const struct pollfd *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			send(fds[i].fd, "?", 1, MSG_NOSIGNAL);
}

static int ask(const struct addrinfo *to, int wait, int count)
{
	struct pollfd fds[MAX_SOCKETS];
	long end = now() + wait, left;
	int open = count, ready;

	for (int i = 0; i < count; i++)
		fds[i] = (struct pollfd){ask_one(to), POLLIN, 0};
	while (open && (left = end - now()) > 0) {
		ready = poll(fds, count, left < REPEAT ? left : REPEAT);
		if (ready < 0)
			die("poll");
		if (ready)
			open -= hear(fds, count);
		else if (left > REPEAT && to->ai_socktype == SOCK_DGRAM)
			repeat(fds, count);
	}
	while (open--)
		puts("silent");
	return 0;
}

static bool comes(int fd, short event, int wait)
{
	struct pollfd one = {fd, event, 0};

	return poll(&one, 1, wait) == 1;
}

/* @first: what must come before the first question, POLLIN or POLLOUT. */
static int hold(const struct addrinfo *to, short first, int wait)
{
	int fd = ask_one(to);
	char line[MAX_ANSWER];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!comes(fd, first, wait))
		return 1;
	helper_ready();
	while (fgets(line, sizeof(line), stdin)) {
		wait = atoi(line);
		/* Discards late answers to an earlier question. */
		while (recv(fd, line, sizeof(line), MSG_DONTWAIT) > 0)
			;
		send(fd, "?", 1, MSG_NOSIGNAL);
		if (comes(fd, POLLIN, wait))
			print_answer(fd);
		else
			puts("silent");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct addrinfo *to;

	if (argc > 3 && argc - 3 <= MAX_PORTS && !strcmp(argv[1], "serve"))
		serve(argv[2], argv + 3, argc - 3);
	if ((argc == 7 && !strcmp(argv[1], "ask") && atoi(argv[6]) <= MAX_SOCKETS) ||
	    (argc == 6 && (!strcmp(argv[1], "hold") || !strcmp(argv[1], "connect")))) {
		to = find(strcmp(argv[2], "tcp") ? SOCK_DGRAM : SOCK_STREAM, argv[3], argv[4]);
		return argc == 7 ? ask(to, atoi(argv[5]), atoi(argv[6]))
				 : hold(to, !strcmp(argv[1], "hold") ? POLLIN : POLLOUT,
					atoi(argv[5]));
	}
	fprintf(stderr, "usage: backend serve NAME PORT...\n"
			"       backend ask tcp|udp ADDRESS PORT WAIT COUNT\n"
			"       backend hold|connect tcp|udp ADDRESS PORT WAIT\n");
	return 2;
}
