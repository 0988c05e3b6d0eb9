// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures packets through a node, from one pod's veth to another's: without policy, with a
 * floor, with Bulkhead, and with nftables rulesets from the same policies. Each of these has a
 * node of its own, so that their samples alternate.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/rivals.h"

/* Short samples in each round, of which the best counts: other processes only add time. */
#define TRIES 6
#define UDP_PACKETS 20000
#define UDP_FLOWS 1000
#define BATCH 64
#define CONNECTIONS 500
#define STREAM_MS 20

enum way { NOTHING, FLOOR, BULKHEAD, BULKHEAD_REDIRECT, NFT_SETS, NFT_LINEAR, WAYS };
static const char *const ways[WAYS] = {
	"nothing", "floor", "Bulkhead", "Bulkhead, redirect", "nftables sets", "nftables linear"};

static bool is_ours(enum way way)
{
	return way == BULKHEAD || way == BULKHEAD_REDIRECT;
}

struct wire {
	struct bench *bench;
	struct world worlds[WAYS];
	int listeners[WAYS], sinks[WAYS], sockets[WAYS];
	struct sender *sender;
	bool again; /* not the first attempt of a round */
	struct figure *udp[WAYS], *socket[WAYS], *connect[WAYS], *stream[WAYS];
};

static void sample(const struct wire *wire, struct figure *figure, double time)
{
	if (wire->again)
		figure_least(figure, time);
	else
		figure_add(figure, time);
}

/* ---- TCP: client and server in one thread, so that no scheduler stands between them ---- */

static struct sockaddr_in server(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(WORLD_TCP),
		.sin_addr.s_addr = htonl(10 << 24 | 1),
	};
}

static int tcp_listen(const struct world *world)
{
	struct sockaddr_in address = server();
	int fd, err = world_enter(world, SERVER);

	fd = err ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)) || listen(fd, 128)) {
		perror("the server");
		return -EIO;
	}
	return fd;
}

/* Returns a socket that sends to the sink. */
static int udp_socket(const struct world *world)
{
	struct sockaddr_in address = server();
	int fd, err = world_enter(world, CLIENT);

	address.sin_port = htons(WORLD_UDP);
	fd = err ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (void *)&address, sizeof(address))) {
		perror("the client");
		return -EIO;
	}
	return fd;
}

/* Opens a connection. @ends: its two sockets. */
static int tcp_connect(int listener, int ends[2])
{
	struct linger reset = {.l_onoff = 1};
	struct sockaddr_in address = server();

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Closes by RST: ports that wait for late packets would run out. */
	setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	if (ends[0] < 0 || connect(ends[0], (void *)&address, sizeof(address))) {
		perror("connect");
		return -EIO;
	}
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return ends[1] < 0 ? -errno : 0;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static int measure_connect(struct wire *wire, enum way way)
{
	double begin = now_ns();
	int ends[2], err = world_enter(&wire->worlds[way], CLIENT);

	for (int i = 0; i < CONNECTIONS && !err; i++) {
		err = tcp_connect(wire->listeners[way], ends);
		if (err)
			break;
		close(ends[0]);
		close(ends[1]);
	}
	sample(wire, wire->connect[way], (now_ns() - begin) / CONNECTIONS / 1e3);
	return err;
}

static int measure_stream(struct wire *wire, enum way way)
{
	static char bytes[1 << 18];
	double begin, end, total = 0;
	int ends[2], err = world_enter(&wire->worlds[way], CLIENT);
	ssize_t n;

	err = err ? err : tcp_connect(wire->listeners[way], ends);
	if (err)
		return err;
	begin = now_ns();
	do {
		while (send(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			continue;
		while ((n = recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			total += n;
		end = now_ns();
	} while (end - begin < STREAM_MS * 1e6);
	close(ends[0]);
	close(ends[1]);
	if (wire->again)
		figure_most(wire->stream[way], total * 8 / (end - begin));
	else
		figure_add(wire->stream[way], total * 8 / (end - begin));
	return 0;
}

/* Sends a packet in each direction, so that the flow is established wherever connections are
 * tracked. */
static int open_flow(struct wire *wire, enum way way)
{
	struct sockaddr_in client;
	socklen_t length = sizeof(client);

	if (send(wire->sockets[way], "", 1, 0) < 0 ||
	    getsockname(wire->sockets[way], (void *)&client, &length) ||
	    sendto(wire->sinks[way], "", 1, 0, (void *)&client, length) < 0)
		return -errno;
	return send(wire->sockets[way], "", 1, 0) < 0 ? -errno : 0;
}

static int measure_socket(struct wire *wire, enum way way)
{
	static char payload[18];
	struct iovec bytes = {payload, sizeof(payload)};
	struct mmsghdr batch[BATCH];
	int sent = 0, n, err = open_flow(wire, way);
	double begin;

	if (err)
		return err;
	for (int i = 0; i < BATCH; i++)
		batch[i].msg_hdr = (struct msghdr){.msg_iov = &bytes, .msg_iovlen = 1};
	begin = now_ns();
	while (sent < UDP_PACKETS) {
		n = sendmmsg(wire->sockets[way], batch, BATCH, 0);
		if (n < 0)
			return -errno;
		sent += n;
	}
	sample(wire, wire->socket[way], (now_ns() - begin) / sent);
	return 0;
}

static int open_flows(struct wire *wire, enum way way)
{
	const struct burst there = {CLIENT, SERVER, .flows = UDP_FLOWS, .n = UDP_FLOWS};
	const struct burst back = {SERVER, CLIENT, .back = true, .flows = UDP_FLOWS,
				   .n = UDP_FLOWS};
	double ns;
	int err = sender_run(wire->sender, &wire->worlds[way], &there, &ns);

	err = err ? err : sender_run(wire->sender, &wire->worlds[way], &back, &ns);
	return err ? err : sender_run(wire->sender, &wire->worlds[way], &there, &ns);
}

static int measure_udp(struct wire *wire, enum way way)
{
	const struct burst burst = {CLIENT, SERVER, .flows = UDP_FLOWS, .n = UDP_PACKETS};
	const struct world *world = &wire->worlds[way];
	int err = open_flows(wire, way);
	uint64_t before = world_received(world, SERVER), arrived;
	double ns;

	err = err ? err : sender_run(wire->sender, world, &burst, &ns);
	arrived = world_received(world, SERVER) - before;
	if (!err && arrived < UDP_PACKETS * 0.999) {
		fprintf(stderr, "%s: %llu of %d packets arrived\n", ways[way],
			(unsigned long long)arrived, UDP_PACKETS);
		return -EIO;
	}
	sample(wire, wire->udp[way], ns);
	return err;
}

/* ---- all of it ---- */

static int set_up(struct wire *wire, enum way way, const char *policies)
{
	static const char *const redirect[] = {"redirect=1"};
	struct world *world = &wire->worlds[way];
	int err = world_make(wire->bench, way, world);

	err = err ? err : place_enter(&world->node);
	if (err)
		return err;
	if (way == BULKHEAD_REDIRECT) {
		world->node.options.settings = redirect;
		world->node.options.n_settings = 1;
	}
	if (is_ours(way))
		err = place_load(&world->node, policies, NULL);
	else if (way == FLOOR)
		err = rivals_floor(world);
	else if (way != NOTHING)
		err = rivals_nft(world, way == NFT_SETS);
	if (err)
		return err;
	wire->listeners[way] = tcp_listen(world);
	if (wire->listeners[way] < 0)
		return wire->listeners[way];
	wire->sinks[way] = world_sink(world, SERVER);
	if (wire->sinks[way] < 0)
		return wire->sinks[way];
	wire->sockets[way] = udp_socket(world);
	return wire->sockets[way] < 0 ? wire->sockets[way] : 0;
}

static int make_worlds(struct wire *wire)
{
	char path[BENCH_PATH];
	int err = rivals_policies(wire->bench, path);

	for (int way = 0; way < WAYS && !err; way++)
		err = set_up(wire, way, path);
	return err ? err : sender_open(&wire->sender);
}

static void add_figures(struct wire *wire)
{
	struct report *report = &wire->bench->report;

	for (int way = 0; way < WAYS; way++) {
		wire->udp[way] =
			report_figure(report, "ns", "UDP packet, live frames: %s", ways[way]);
		wire->socket[way] =
			report_figure(report, "ns", "UDP packet, sendmmsg: %s", ways[way]);
		wire->connect[way] = report_figure(report, "us", "TCP connection: %s", ways[way]);
		wire->stream[way] = report_figure(report, "Gb/s", "TCP stream: %s", ways[way]);
	}
}

static int one_try(struct wire *wire, unsigned int number)
{
	int err = 0;

	for (int i = 0; i < WAYS && !err; i++)
		err = measure_udp(wire, (i + number) % WAYS);
	for (int i = 0; i < WAYS && !err; i++)
		err = measure_socket(wire, (i + number) % WAYS);
	for (int i = 0; i < WAYS && !err; i++)
		err = measure_connect(wire, (i + number) % WAYS);
	for (int i = 0; i < WAYS && !err; i++)
		err = measure_stream(wire, (i + number) % WAYS);
	return err;
}

/* Rates are the inverse of the times per packet and per connection. */
static void conclude(struct wire *wire)
{
	const struct {
		const char *what;
		struct figure *const *time;
	} rates[] = {
		{"UDP packets/s, live frames", wire->udp},
		{"UDP packets/s, sendmmsg", wire->socket},
		{"TCP connections/s", wire->connect},
	};
	struct report *report = &wire->bench->report;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct figure *const *time = rates[i].time;

		for (int way = FLOOR; way < WAYS; way++) {
			struct figure *ratio =
				report_ratio(report, time[NOTHING], time[way], "%s: %s / nothing",
					     rates[i].what, ways[way]);

			if (is_ours(way))
				figure_target(ratio, LIMIT_AT_LEAST, 0.97);
		}
		for (int way = BULKHEAD; way < NFT_SETS; way++)
			figure_target(report_ratio(report, time[NFT_SETS], time[way],
						   "%s: %s / nftables sets", rates[i].what,
						   ways[way]),
				      LIMIT_AT_LEAST, 1);
	}
	for (int way = FLOOR; way < WAYS; way++) {
		report_ratio(report, wire->stream[way], wire->stream[NOTHING],
			     "TCP throughput: %s / nothing", ways[way]);
		report_difference(report, wire->udp[way], wire->udp[NOTHING],
				  "UDP packet, live frames: added by %s", ways[way]);
		report_difference(report, wire->socket[way], wire->socket[NOTHING],
				  "UDP packet, sendmmsg: added by %s", ways[way]);
	}
}

int bench_wire(struct bench *bench)
{
	struct wire wire = {.bench = bench};
	int err = make_worlds(&wire);

	bench_alone();
	add_figures(&wire);
	for (unsigned int i = 0; i < TRIES * bench->rounds && !err; i++) {
		wire.again = i % TRIES;
		err = one_try(&wire, i);
	}
	if (!err)
		conclude(&wire);
	return err;
}
