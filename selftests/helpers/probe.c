// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a test's connections.
 *
 *   probe serve PORT...                          answers TCP and UDP on every address
 *
 *   probe ask tcp|udp ADDRESS PORT WAIT [SOURCE] 0: answered within WAIT ms, 1: not. In place of
 *                                                "udp", "free" asks by a socket that is not
 *                                                connected
 *
 *   probe which WAIT ADDRESS[,ADDRESS]... PORT... a line for each address, of the UDP ports there
 *                                                that answer before the last one does, or WAIT ms
 *                                                are over
 *
 *   probe keep PORT                              answers one TCP connection for as long as it is
 *                                                open
 *
 *   probe hold ADDRESS PORT WAIT                 asks over one TCP connection for each line it
 *                                                reads, and prints "answered" or "silent" within
 *                                                WAIT ms, or as many ms as the line says
 *
 * `serve` and `keep` print "ready" once they listen, and end with the process that started them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MAX_SOCKETS 64
#define MAX_CALLERS 128 /* TCP connections that `serve` holds at once */
static const char question[] = "?", answer[] = "!";

/* Accepts a connection into a free place; if there is none, in place of another. A client has as
 * much time for its byte as it likes, since a busy machine takes seconds. */
static void welcome(struct pollfd *callers, int listener)
{
	static unsigned int next;
	int at = 0;

	while (at < MAX_CALLERS && callers[at].fd >= 0)
		at++;
	if (at == MAX_CALLERS) {
		at = next++ % MAX_CALLERS;
		close(callers[at].fd);
	}
	callers[at] = (struct pollfd){accept4(listener, NULL, NULL, SOCK_CLOEXEC), POLLIN, 0};
}

static void answer_tcp(struct pollfd *caller)
{
	char byte;

	if (recv(caller->fd, &byte, 1, 0) == 1)
		send(caller->fd, answer, 1, MSG_NOSIGNAL);
	close(caller->fd);
	caller->fd = -1;
}

static void answer_udp(int fd)
{
	struct helper_datagram question;

	if (helper_take(fd, &question))
		helper_answer(fd, &question, answer, 1);
}

/* Fills @fds with the listeners, TCP and UDP in turn. Returns how many. */
static int listen_all(struct pollfd *fds, char **ports, int n)
{
	int count = 0;

	for (int i = 0; i < n && count + 2 <= MAX_SOCKETS; i++) {
		uint16_t port = atoi(ports[i]);

		fds[count++] = (struct pollfd){helper_listen(SOCK_STREAM, port), POLLIN, 0};
		fds[count++] = (struct pollfd){helper_listen(SOCK_DGRAM, port), POLLIN, 0};
	}
	return count;
}

static _Noreturn void serve(char **ports, int n)
{
	struct pollfd fds[MAX_SOCKETS + MAX_CALLERS];
	const int listeners = listen_all(fds, ports, n);
	struct pollfd *callers = fds + listeners;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < MAX_CALLERS; i++)
		callers[i] = (struct pollfd){-1, POLLIN, 0};
	helper_ready();
	for (;;) {
		if (poll(fds, listeners + MAX_CALLERS, -1) < 0 && errno != EINTR)
			helper_die("poll");
		for (int i = 0; i < MAX_CALLERS; i++)
			if (callers[i].fd >= 0 && callers[i].revents)
				answer_tcp(&callers[i]);
		for (int i = 0; i < listeners; i++) {
			if (!(fds[i].revents & POLLIN))
				continue;
			if (i % 2)
				answer_udp(fds[i].fd);
			else
				welcome(callers, fds[i].fd);
		}
	}
}

/* Waits for @events; false: they did not come, or an error did. */
static int await(int fd, short events, int wait)
{
	struct pollfd poller = {fd, events, 0};

	return poll(&poller, 1, wait) == 1 && !(poller.revents & (POLLERR | POLLHUP) & ~events);
}

/* Asks over UDP by a socket to which every host may send. */
static int ask_free(const char *to, uint16_t port, int wait)
{
	struct sockaddr_storage address;
	socklen_t length = helper_address(to, port, &address);
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	if (fd < 0)
		helper_die("socket");
	if (sendto(fd, question, 1, 0, (struct sockaddr *)&address, length) != 1)
		return 1;
	return !(await(fd, POLLIN, wait) && recv(fd, &byte, 1, 0) == 1 && byte == answer[0]);
}

static int ask(int type, const char *to, uint16_t port, int wait, const char *from)
{
	struct sockaddr_storage address, source;
	socklen_t length = helper_address(to, port, &address);
	int fd = socket(address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char byte;

	if (fd < 0)
		helper_die("socket");
	if (from && bind(fd, (struct sockaddr *)&source, helper_address(from, 0, &source)))
		helper_die("bind");
	if (connect(fd, (struct sockaddr *)&address, length) && errno != EINPROGRESS)
		return 1;
	if (!await(fd, POLLOUT, wait) || send(fd, question, 1, MSG_NOSIGNAL) != 1)
		return 1;
	return !(await(fd, POLLIN, wait) && recv(fd, &byte, 1, 0) == 1 && byte == answer[0]);
}

/*
 * `serve` reads its sockets in the order of its ports, so a port that was asked earlier has
 * answered by the time the last one has. The last moments cover an answer that another CPU still
 * handles.
 */
static void which(int wait, const char *to, char **ports, int n)
{
	const int moments = 10;
	const char *space = "";
	int fds[MAX_SOCKETS] = {};
	char byte;

	for (int i = 0; i < n; i++) {
		struct sockaddr_storage address;
		socklen_t length = helper_address(to, atoi(ports[i]), &address);

		fds[i] = socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 || connect(fds[i], (struct sockaddr *)&address, length))
			helper_die(to);
		send(fds[i], question, 1, 0);
	}
	await(fds[n - 1], POLLIN, wait);
	poll(NULL, 0, moments);
	for (int i = 0; i < n; i++) {
		if (recv(fds[i], &byte, 1, 0) == 1 && byte == answer[0]) {
			printf("%s%s", space, ports[i]);
			space = " ";
		}
		close(fds[i]);
	}
	puts("");
}

static int which_of_each(int wait, char *addresses, char **ports, int n)
{
	for (char *to = strtok(addresses, ","); to; to = strtok(NULL, ","))
		which(wait, to, ports, n);
	return 0;
}

static _Noreturn void keep(uint16_t port)
{
	int listener = helper_listen(SOCK_STREAM, port), connection;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	helper_ready();
	connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (connection >= 0 && recv(connection, &byte, 1, 0) == 1)
		send(connection, answer, 1, MSG_NOSIGNAL);
	exit(0);
}

static int hold(const char *to, uint16_t port, int wait)
{
	struct sockaddr_storage address;
	socklen_t length = helper_address(to, port, &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char line[16], byte;
	int limit;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0)
		helper_die("socket");
	if (connect(fd, (struct sockaddr *)&address, length) && errno != EINPROGRESS)
		helper_die("connect");
	if (!await(fd, POLLOUT, wait))
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		bool answered;

		limit = atoi(line);
		answered = send(fd, question, 1, MSG_NOSIGNAL) == 1 &&
			   await(fd, POLLIN, limit ? limit : wait) && recv(fd, &byte, 1, 0) == 1;
		puts(answered ? "answered" : "silent");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "serve"))
		serve(argv + 2, argc - 2);
	if (argc > 5 && !strcmp(argv[1], "ask"))
		return !strcmp(argv[2], "free")
			       ? ask_free(argv[3], atoi(argv[4]), atoi(argv[5]))
			       : ask(strcmp(argv[2], "tcp") ? SOCK_DGRAM : SOCK_STREAM, argv[3],
				     atoi(argv[4]), atoi(argv[5]), argv[6]);
	if (argc > 4 && argc - 4 <= MAX_SOCKETS && !strcmp(argv[1], "which"))
		return which_of_each(atoi(argv[2]), argv[3], argv + 4, argc - 4);
	if (argc == 3 && !strcmp(argv[1], "keep"))
		keep(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "hold"))
		return hold(argv[2], atoi(argv[3]), atoi(argv[4]));
	fprintf(stderr,
		"usage: probe serve PORT... | probe ask tcp|udp ADDRESS PORT WAIT [SOURCE]\n"
		"       probe which WAIT ADDRESS[,ADDRESS]... PORT...\n"
		"       probe keep PORT | probe hold ADDRESS PORT WAIT\n");
	return 2;
}
