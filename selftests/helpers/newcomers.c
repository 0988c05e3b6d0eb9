// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long after the API server tells of a Pod's address the first datagram from that address
 * arrives.
 *
 *   newcomers send TO PORT FIRST N   sends a datagram from each of the N IPv4 addresses that begin
 * with FIRST to TO, every four ms until TO has answered that address newcomers hear PORT N reads a
 * watch's stream of Pods from standard input, and answers each address once; ends after N
 * addresses, or after 60 s. Prints "ADDRESS MICROSECONDS" for each: from the Pod's event with
 * status.podIP until the first datagram
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

#define ADDRESSES_MAX 1000
#define EVERY_MS 4
#define PATIENCE_US 60000000
#define LINE_MAX_BYTES (1 << 20)

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int open_at(struct in_addr address, int port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		helper_die("bind");
	return fd;
}

static struct in_addr parse(const char *text)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1)
		helper_die(text);
	return address;
}

static int send_all(char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(atoi(argv[1])),
				 .sin_addr = parse(argv[0])};
	const uint32_t first = ntohl(parse(argv[2]).s_addr);
	const int n = atoi(argv[3]);
	int fds[ADDRESSES_MAX], left = n;
	char byte;

	for (int i = 0; i < n; i++)
		fds[i] = open_at((struct in_addr){htonl(first + i)}, 0);
	while (left) {
		for (int i = 0; i < n; i++) {
			if (fds[i] < 0)
				continue;
			if (recv(fds[i], &byte, 1, 0) < 0) {
				sendto(fds[i], "?", 1, 0, (struct sockaddr *)&to, sizeof(to));
				continue;
			}
			close(fds[i]);
			fds[i] = -1;
			left--;
		}
		usleep(EVERY_MS * 1000);
	}
	return 0;
}

/* One Pod's address. */
struct newcomer {
	struct in_addr address;
	long told, heard; /* us; 0: not yet */
};
static struct newcomer newcomers[ADDRESSES_MAX];
static int n_newcomers;

static struct newcomer *find(struct in_addr address)
{
	for (int i = 0; i < n_newcomers; i++)
		if (newcomers[i].address.s_addr == address.s_addr)
			return &newcomers[i];
	if (n_newcomers == ADDRESSES_MAX)
		helper_die("too many addresses");
	newcomers[n_newcomers].address = address;
	return &newcomers[n_newcomers++];
}

static void take_event(const char *line, long now)
{
	const char *at = strstr(line, "\"podIP\":\"");
	struct in_addr address;
	char text[INET_ADDRSTRLEN];

	if (!at || sscanf(at + strlen("\"podIP\":\""), "%15[0-9.]", text) != 1 ||
	    inet_pton(AF_INET, text, &address) != 1)
		return;
	if (!find(address)->told)
		find(address)->told = now;
}

/* Reads what the watch has sent. Returns false at its end. */
static bool read_events(void)
{
	static char line[LINE_MAX_BYTES];
	static size_t n;
	const long now = microseconds();
	const ssize_t got = read(STDIN_FILENO, line + n, sizeof(line) - 1 - n);
	char *at = line, *end;

	if (got <= 0)
		return got < 0 && errno == EAGAIN;
	n += got;
	line[n] = '\0';
	for (; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		take_event(at, now);
	}
	n -= at - line;
	memmove(line, at, n);
	return n < sizeof(line) - 1;
}

static void read_datagrams(int fd)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	char byte;

	while (recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &size) >= 0) {
		struct newcomer *newcomer = find(from.sin_addr);

		if (!newcomer->heard)
			newcomer->heard = microseconds();
		sendto(fd, "!", 1, 0, (struct sockaddr *)&from, size);
	}
}

static int complete(void)
{
	int n = 0;

	for (int i = 0; i < n_newcomers; i++)
		n += newcomers[i].told && newcomers[i].heard;
	return n;
}

static int hear_all(char **argv)
{
	const int fd = open_at((struct in_addr){INADDR_ANY}, atoi(argv[0])), n = atoi(argv[1]);
	const long until = microseconds() + PATIENCE_US;
	struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}};

	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	while (complete() < n && microseconds() < until) {
		poll(fds, 2, 100);
		read_datagrams(fd);
		if (fds[0].revents && !read_events())
			fds[0].fd = -1;
	}
	for (int i = 0; i < n_newcomers; i++) {
		const struct newcomer *one = &newcomers[i];

		if (one->told && one->heard)
			printf("%s %ld\n", inet_ntoa(one->address), one->heard - one->told);
	}
	return complete() < n;
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 6 && !strcmp(argv[1], "send") && atoi(argv[5]) <= ADDRESSES_MAX)
		return send_all(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "hear"))
		return hear_all(argv + 2);
	fprintf(stderr, "usage: newcomers send TO PORT FIRST N\n       newcomers hear PORT N\n");
	return 2;
}
