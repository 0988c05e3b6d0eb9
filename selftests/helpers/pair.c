// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a transfer in one process, each in a network namespace of its own, so that neither
 * end waits for the other to be started.
 *
 *   pair FROM TO tcp ADDRESS PORT BYTES     one connection carries so many, whole and in order
 *
 *   pair FROM TO udp ADDRESS PORT BYTES     one datagram, in as many fragments as its sender's link
 *                                           asks
 *
 *   pair FROM TO gso ADDRESS PORT BYTES     so many in datagrams of 1,000, which leave their sender
 *                                           as one
 *
 *   pair FROM TO df ADDRESS PORT BYTES      datagrams that nobody may fragment, until one arrives:
 *                                           each as big as errors have told its sender so far;
 *                                           prints the size
 *
 *   pair FROM TO hold ADDRESS PORT COUNT    prints "ready" with COUNT open connections, then, for
 *                                           each line it reads, over how many of them a byte went
 *                                           there and back
 *
 *   pair FROM TO talk ADDRESS PORT tcp|udp  prints "ready" once one connection is open, then, for
 *                                           each line it reads, "there MS" or "back MS", whether
 *                                           what it sends that way arrives in so
 *                                           long: "arrived" or "lost"
 *
 * FROM and TO are files such as /run/netns/NAME. If the node translates, ADDRESS and PORT are
 * CALLED,BACKEND each: what FROM calls, and where TO listens. Waits WAIT ms (5000 if not in the
 * environment) for each step; 0: done, 1: not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MAX_HELD 2000
#define MAX_DATAGRAM 65507
#define SEGMENT 1000
#define DF_TRIES 4 /* for a path of up to four ever narrower links */

struct side {
	const char *namespace;
	int fd;
};

struct place {
	struct sockaddr_storage address;
	socklen_t length;
};

static struct place called, backend;
static int wait_ms = 5000;

static void parse(const char *text, uint16_t port, struct place *place)
{
	place->length = helper_address(text, port, &place->address);
}

/* Each argument is one text for both ends, or CALLED,BACKEND. */
static void parse_places(char *address, char *port)
{
	char *other_address = strchr(address, ','), *other_port = strchr(port, ',');

	if (other_address)
		*other_address++ = 0;
	if (other_port)
		*other_port++ = 0;
	parse(address, atoi(port), &called);
	parse(other_address ? other_address : address, atoi(other_port ? other_port : port),
	      &backend);
}

/* A socket stays in the network namespace that it was made in. */
static int open_socket(const struct side *side, int type)
{
	int namespace = open(side->namespace, O_RDONLY | O_CLOEXEC), fd, on = 1, capacity = 1 << 20;

	if (namespace < 0 || setns(namespace, CLONE_NEWNET))
		helper_die(side->namespace);
	close(namespace);
	fd = socket(called.address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &capacity, sizeof(capacity));
	return fd;
}

static bool await(int fd, short events)
{
	struct pollfd poller = {fd, events, 0};

	return poll(&poller, 1, wait_ms) == 1 && poller.revents & events;
}

/* Returns true if there is something to read, or room to send more (@sender -1: no more is sent). A
 * full sender may wait for acknowledgements alone: then all of its bytes have been read. */
static bool await_either(int receiver, int sender)
{
	struct pollfd pollers[] = {{receiver, POLLIN, 0}, {sender, POLLOUT, 0}};

	return poll(pollers, 2, wait_ms) > 0 &&
	       (pollers[0].revents & POLLIN || pollers[1].revents & POLLOUT);
}

static void open_receiver(struct side *to, int type)
{
	to->fd = open_socket(to, type);
	if (bind(to->fd, (struct sockaddr *)&backend.address, backend.length))
		helper_die("bind");
	if (type == SOCK_STREAM && listen(to->fd, MAX_HELD))
		helper_die("listen");
}

/* Returns true if the other end's stack has accepted the connection. */
static bool open_sender(struct side *from, int type)
{
	from->fd = open_socket(from, type);
	return !connect(from->fd, (struct sockaddr *)&called.address, called.length) ||
	       (errno == EINPROGRESS && await(from->fd, POLLOUT));
}

static int accept_from(const struct side *to)
{
	return await(to->fd, POLLIN) ? accept4(to->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
				     : -1;
}

/* The expected byte at offset @at of a transfer. */
static uint8_t content(size_t at)
{
	return at * 31 >> 3 ^ at;
}

static void fill(uint8_t *bytes, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = content(at + i);
}

static bool is_filled(const uint8_t *bytes, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != content(at + i))
			return false;
	return true;
}

static int failed(const char *why)
{
	fprintf(stderr, "pair: %s\n", why);
	return 1;
}

static int tell_lost(const struct side *from, size_t sent, size_t got)
{
	struct tcp_info info = {};
	socklen_t length = sizeof(info);

	getsockopt(from->fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	fprintf(stderr,
		"pair: %zu bytes are sent, %zu have arrived; %u segments sent again, the next one "
		"after %u ms, state %u, MSS %u\n",
		sent, got, info.tcpi_total_retrans, info.tcpi_rto / 1000, info.tcpi_state,
		info.tcpi_snd_mss);
	return 1;
}

static int carry_tcp(struct side *from, struct side *to, size_t bytes)
{
	size_t sent = 0, got = 0;
	uint8_t buffer[16384];
	int connection;
	ssize_t n;

	open_receiver(to, SOCK_STREAM);
	if (!open_sender(from, SOCK_STREAM))
		return failed("there is no connection");
	connection = accept_from(to);
	if (connection < 0)
		return failed("the connection does not arrive");
	while (got < bytes) {
		n = bytes - sent < sizeof(buffer) ? bytes - sent : sizeof(buffer);
		fill(buffer, n, sent);
		n = n ? send(from->fd, buffer, n, MSG_NOSIGNAL) : 0;
		if (n > 0)
			sent += n;
		else if (!await_either(connection, sent < bytes ? from->fd : -1))
			return tell_lost(from, sent, got);
		while ((n = recv(connection, buffer, sizeof(buffer), 0)) > 0) {
			if (!is_filled(buffer, n, got))
				return failed("what arrives is not what was sent");
			got += n;
		}
	}
	return 0;
}

static bool datagram_arrived(const struct side *to, size_t bytes)
{
	static uint8_t buffer[MAX_DATAGRAM + 1];

	return recv(to->fd, buffer, sizeof(buffer), 0) == (ssize_t)bytes &&
	       is_filled(buffer, bytes, 0);
}

static void discover(const struct side *from, int how)
{
	bool v4 = called.address.ss_family == AF_INET;

	/* IPv6 has the same values. */
	if (setsockopt(from->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6,
		       v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &how, sizeof(how)))
		helper_die("path MTU discovery");
}

/* The largest payload for the path MTU known so far. */
static size_t datagram_room(const struct side *from)
{
	bool v4 = called.address.ss_family == AF_INET;
	socklen_t length = sizeof(int);
	int mtu;

	if (getsockopt(from->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
		       &length))
		helper_die("path MTU");
	return mtu - (v4 ? 20 : 40) - sizeof(struct udphdr);
}

static int carry_datagram(struct side *from, struct side *to, size_t bytes, bool whole)
{
	static uint8_t buffer[MAX_DATAGRAM];
	struct pollfd fds[2];

	open_receiver(to, SOCK_DGRAM);
	open_sender(from, SOCK_DGRAM);
	discover(from, whole ? IP_PMTUDISC_DO : IP_PMTUDISC_DONT);
	fill(buffer, sizeof(buffer), 0);
	for (int i = 0; i < (whole ? DF_TRIES : 1); i++) {
		if (whole && bytes > datagram_room(from))
			bytes = datagram_room(from);
		/* send() reports a pending ICMP error instead of sending. */
		if (send(from->fd, buffer, bytes, 0) != (ssize_t)bytes)
			continue;
		fds[0] = (struct pollfd){to->fd, POLLIN, 0};
		fds[1] = (struct pollfd){from->fd, 0, 0};
		if (poll(fds, 2, wait_ms) <= 0)
			return 1;
		if (fds[0].revents & POLLIN) {
			printf("%zu\n", bytes);
			return !datagram_arrived(to, bytes);
		}
	}
	return 1;
}

/* Sends by generic segmentation offload: the link or the receiving stack segments the packet. */
static int carry_segments(struct side *from, struct side *to, size_t bytes)
{
	static uint8_t buffer[MAX_DATAGRAM];
	int segment = SEGMENT;
	size_t got = 0;
	ssize_t n;

	open_receiver(to, SOCK_DGRAM);
	open_sender(from, SOCK_DGRAM);
	if (setsockopt(from->fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		helper_die("UDP_SEGMENT");
	if (send(from->fd, buffer, bytes, 0) != (ssize_t)bytes)
		helper_die("send");
	while (got < bytes) {
		if (!await(to->fd, POLLIN))
			return 1;
		n = recv(to->fd, buffer, sizeof(buffer), 0);
		if (n <= 0 || n > SEGMENT)
			return 1;
		got += n;
	}
	return 0;
}

static bool goes_there_and_back(int one, int other)
{
	char byte = '?';

	return send(one, &byte, 1, MSG_NOSIGNAL) == 1 && await(other, POLLIN) &&
	       recv(other, &byte, 1, 0) == 1 && send(other, &byte, 1, MSG_NOSIGNAL) == 1 &&
	       await(one, POLLIN) && recv(one, &byte, 1, 0) == 1;
}

static int hold(struct side *from, struct side *to, size_t count)
{
	const struct rlimit files = {2 * MAX_HELD + 64, 2 * MAX_HELD + 64};
	static int ends[MAX_HELD][2];
	size_t alive;
	char line[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (count > MAX_HELD || setrlimit(RLIMIT_NOFILE, &files))
		helper_die("too many connections");
	open_receiver(to, SOCK_STREAM);
	for (size_t i = 0; i < count; i++) {
		if (!open_sender(from, SOCK_STREAM))
			return 1;
		ends[i][0] = from->fd;
		ends[i][1] = accept_from(to);
		if (ends[i][1] < 0)
			return 1;
	}
	helper_ready();
	while (fgets(line, sizeof(line), stdin)) {
		alive = 0;
		for (size_t i = 0; i < count; i++)
			alive += goes_there_and_back(ends[i][0], ends[i][1]);
		printf("%zu\n", alive);
		fflush(stdout);
	}
	return 0;
}

/* Each message has its own number: TCP may first deliver retransmitted ones. */
static bool says(const struct side *one, const struct side *other, uint32_t number)
{
	uint32_t got = ~number;

	if (send(one->fd, &number, sizeof(number), MSG_NOSIGNAL) != sizeof(number))
		return false;
	while (got != number && await(other->fd, POLLIN))
		if (recv(other->fd, &got, sizeof(got), 0) != sizeof(got))
			return false;
	return got == number;
}

/* Connects the called side to the calling side, once that has sent something. */
static bool meet(struct side *from, struct side *to, int type)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	char byte = '?';
	int listener = to->fd;

	if (type == SOCK_STREAM) {
		to->fd = accept_from(to);
		close(listener);
		return to->fd >= 0;
	}
	return send(from->fd, &byte, 1, 0) == 1 && await(to->fd, POLLIN) &&
	       recvfrom(to->fd, &byte, 1, 0, (struct sockaddr *)&peer, &length) == 1 &&
	       !connect(to->fd, (struct sockaddr *)&peer, length);
}

static int talk(struct side *from, struct side *to, int type)
{
	uint32_t number = 0;
	char line[32], way[8];
	bool arrived;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_receiver(to, type);
	if (!open_sender(from, type) || !meet(from, to, type))
		return 1;
	helper_ready();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%7s %d", way, &wait_ms) != 2)
			return 2;
		number++;
		arrived = strcmp(way, "back") ? says(from, to, number) : says(to, from, number);
		puts(arrived ? "arrived" : "lost");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct side from, to;
	size_t size;

	if (argc != 7) {
		fprintf(stderr, "usage: pair FROM TO tcp|udp|gso|df|hold|talk ADDRESS PORT SIZE\n");
		return 2;
	}
	from = (struct side){argv[1], -1};
	to = (struct side){argv[2], -1};
	parse_places(argv[4], argv[5]);
	size = strtoul(argv[6], NULL, 10);
	if (getenv("WAIT"))
		wait_ms = atoi(getenv("WAIT"));
	if (!strcmp(argv[3], "tcp"))
		return carry_tcp(&from, &to, size);
	if (!strcmp(argv[3], "hold"))
		return hold(&from, &to, size);
	if (!strcmp(argv[3], "talk"))
		return talk(&from, &to, strcmp(argv[6], "tcp") ? SOCK_DGRAM : SOCK_STREAM);
	if (size > MAX_DATAGRAM)
		helper_die("too big");
	if (!strcmp(argv[3], "gso"))
		return carry_segments(&from, &to, size);
	return carry_datagram(&from, &to, size, !strcmp(argv[3], "df"));
}
