// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets through a node, from one pod's veth to another's: with no policy, with
 * Bulkhead, and with nftables rulesets made from the same policies. Each way has
 * a node of its own, so that sample can follow sample.
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

#include "tools/bench/world.h"

#define POLICIES 1000
#define ENDPOINTS 1000
#define RANGES 100
/* Short samples in each round, of which the best counts: what else runs only adds time. */
#define TRIES 6
#define UDP_PACKETS 20000
#define UDP_FLOWS 1000
#define SYN_PACKETS 20000
#define CONNECTIONS 500
#define STREAM_MS 20
#define SERVER_PORT 5000 /* the sender's, too */
#define UDP_PORT 1000

enum way { NOTHING, BULKHEAD, NFT_SETS, NFT_LINEAR, BULKHEAD_UPLINK, WAYS };
static const char *const ways[WAYS] = {"nothing", "Bulkhead", "nftables sets", "nftables linear",
				       "Bulkhead at the uplink"};
#define PATHS BULKHEAD_UPLINK /* the ways that a packet between pods can go */

struct wire {
	struct bench *bench;
	struct world worlds[WAYS];
	int listeners[PATHS];
	struct sender *sender;
	bool again; /* not the first try of a round */
	struct figure *udp[PATHS], *connect[PATHS], *stream[PATHS], *syn[WAYS];
};

static void sample(const struct wire *wire, struct figure *figure, double time)
{
	if (wire->again)
		figure_least(figure, time);
	else
		figure_add(figure, time);
}

/* ---- nftables, from the policies that select pod-0 ---- */

static void nft_sets(FILE *to)
{
	fputs("set peers { type ipv4_addr; elements = { 10.0.0.2 }; }\n"
	      "set udp_ports { type inet_service; flags interval; elements = {",
	      to);
	for (int i = 0; i < RANGES; i++)
		fprintf(to, "%s %d-%d", i ? "," : "", 1000 + 20 * i, 1009 + 20 * i);
	fputs(" }; }\nset tcp_ports { type inet_service; flags interval; elements = { 5000-5009 }; "
	      "}\n",
	      to);
}

static void nft_rules(FILE *to, bool sets)
{
	const char *to_pod = "ip daddr 10.0.0.1";

	fputs("chain forward { type filter hook forward priority 0;\n"
	      "ct state established,related accept\n",
	      to);
	if (sets) {
		fprintf(to, "%s ip saddr @peers udp dport @udp_ports accept\n", to_pod);
		fprintf(to, "%s ip saddr @peers tcp dport @tcp_ports accept\n", to_pod);
	}
	for (int i = 0; i < RANGES && !sets; i++)
		fprintf(to, "%s ip saddr 10.0.0.2 udp dport %d-%d accept\n", to_pod, 1000 + 20 * i,
			1009 + 20 * i);
	if (!sets)
		fprintf(to, "%s ip saddr 10.0.0.2 tcp dport 5000-5009 accept\n", to_pod);
	fprintf(to, "%s drop\n}\n", to_pod);
}

static int nft_load(const struct world *world, bool sets)
{
	FILE *to;
	int err = place_enter(&world->node);

	to = err ? NULL : popen("nft -f -", "w");
	if (!to)
		return err ? err : -errno;
	fputs("table inet bench {\n", to);
	if (sets)
		nft_sets(to);
	nft_rules(to, sets);
	fputs("}\n", to);
	return pclose(to) ? -EIO : 0;
}

/* ---- TCP: client and server in one thread, so that no scheduler stands between them ---- */

static struct sockaddr_in server(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(SERVER_PORT),
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

/* Takes the crafted packets, and is never read: they end at its full buffer. */
static int udp_sink(const struct world *world)
{
	struct sockaddr_in address = server();
	int fd, err = world_enter(world, SERVER);

	address.sin_port = htons(UDP_PORT);
	fd = err ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address))) {
		perror("the server");
		return -EIO;
	}
	return 0;
}

/* Both ends of a new connection. */
static int tcp_connect(int listener, int ends[2])
{
	struct linger reset = {.l_onoff = 1};
	struct sockaddr_in address = server();

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* No port waits for late packets: they would run out. */
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

/* ---- crafted packets ---- */

static int measure_udp(struct wire *wire, enum way way)
{
	const struct world *world = &wire->worlds[way];
	uint64_t before = world_received(world, SERVER), arrived;
	double ns;
	int err = sender_run(wire->sender, world, CLIENT, false, UDP_FLOWS, UDP_PACKETS, &ns);

	arrived = world_received(world, SERVER) - before;
	if (!err && arrived < UDP_PACKETS * 0.999) {
		fprintf(stderr, "%s: %llu of %d packets arrived\n", ways[way],
			(unsigned long long)arrived, UDP_PACKETS);
		return -EIO;
	}
	sample(wire, wire->udp[way], ns);
	return err;
}

static int measure_syn(struct wire *wire, enum way way)
{
	const struct world *world = &wire->worlds[way];
	uint64_t before = world_received(world, SERVER), arrived;
	double ns;
	int err = sender_run(wire->sender, world, OUTSIDE, true, UDP_FLOWS, SYN_PACKETS, &ns);

	arrived = world_received(world, SERVER) - before;
	if (!err && arrived > 0) {
		fprintf(stderr, "%s: %llu of %d denied SYNs arrived\n", ways[way],
			(unsigned long long)arrived, SYN_PACKETS);
		return -EIO;
	}
	sample(wire, wire->syn[way], ns);
	return err;
}

/* ---- all of it ---- */

static int make_worlds(struct wire *wire)
{
	static const char *const uplinks[] = {"uplink"};
	char workload[64], path[BENCH_PATH];
	int err;

	snprintf(workload, sizeof(workload), "node %d %d %d", POLICIES, ENDPOINTS, RANGES);
	err = bench_workload(wire->bench, workload, "ini", path);
	for (int way = 0; way < WAYS && !err; way++) {
		struct world *world = &wire->worlds[way];

		err = world_make(wire->bench, way, world);
		if (way == BULKHEAD_UPLINK) {
			world->node.options.uplinks = uplinks;
			world->node.options.n_uplinks = 1;
		}
		err = err ? err : place_enter(&world->node);
		if (err)
			return err;
		if (way == BULKHEAD || way == BULKHEAD_UPLINK)
			err = place_load(&world->node, path, NULL);
		else if (way != NOTHING)
			err = nft_load(world, way == NFT_SETS);
		if (!err && way < PATHS) {
			wire->listeners[way] = tcp_listen(world);
			err = wire->listeners[way] < 0 ? wire->listeners[way] : udp_sink(world);
		}
	}
	return err ? err : sender_open(&wire->sender);
}

static void add_figures(struct wire *wire)
{
	struct report *report = &wire->bench->report;

	for (int way = 0; way < PATHS; way++) {
		wire->udp[way] = report_figure(report, "ns", "UDP packet: %s", ways[way]);
		wire->connect[way] = report_figure(report, "us", "TCP connection: %s", ways[way]);
		wire->stream[way] = report_figure(report, "Gb/s", "TCP stream: %s", ways[way]);
	}
	for (int way = BULKHEAD; way < WAYS; way++)
		wire->syn[way] =
			report_figure(report, "ns", "denied SYN from outside: %s", ways[way]);
}

static int one_try(struct wire *wire, unsigned int number)
{
	int err = 0;

	for (int i = 0; i < WAYS && !err; i++) {
		enum way way = (i + number) % WAYS;

		if (way != NOTHING)
			err = measure_syn(wire, way);
	}
	for (int i = 0; i < PATHS && !err; i++)
		err = measure_udp(wire, (i + number) % PATHS);
	for (int i = 0; i < PATHS && !err; i++)
		err = measure_connect(wire, (i + number) % PATHS);
	for (int i = 0; i < PATHS && !err; i++)
		err = measure_stream(wire, (i + number) % PATHS);
	return err;
}

static void add_difference(struct wire *wire, enum way way)
{
	struct figure *added =
		report_figure(&wire->bench->report, "ns", "UDP packet: added by %s", ways[way]);

	for (size_t i = 0; i < wire->udp[way]->n; i++)
		figure_add(added, wire->udp[way]->samples[i] - wire->udp[NOTHING]->samples[i]);
}

/* Rates are the inverse of the times per packet and per connection. */
static void conclude(struct wire *wire)
{
	struct report *report = &wire->bench->report;
	struct figure *const *udp = wire->udp, *const *connect = wire->connect;

	for (int way = BULKHEAD; way < PATHS; way++) {
		struct figure *ratio = report_ratio(report, udp[NOTHING], udp[way],
						    "UDP packets/s: %s / nothing", ways[way]);

		if (way == BULKHEAD)
			figure_target(ratio, LIMIT_AT_LEAST, 0.97);
		ratio = report_ratio(report, connect[NOTHING], connect[way],
				     "TCP connections/s: %s / nothing", ways[way]);
		if (way == BULKHEAD)
			figure_target(ratio, LIMIT_AT_LEAST, 0.97);
		report_ratio(report, wire->stream[way], wire->stream[NOTHING],
			     "TCP throughput: %s / nothing", ways[way]);
		add_difference(wire, way);
	}
	figure_target(report_ratio(report, udp[NFT_SETS], udp[BULKHEAD],
				   "UDP packets/s: Bulkhead / nftables sets"),
		      LIMIT_AT_LEAST, 1);
	figure_target(report_ratio(report, connect[NFT_SETS], connect[BULKHEAD],
				   "TCP connections/s: Bulkhead / nftables sets"),
		      LIMIT_AT_LEAST, 1);
	figure_target(report_ratio(report, wire->syn[BULKHEAD], wire->syn[BULKHEAD_UPLINK],
				   "denied SYNs/s: at the uplink (XDP) / at the pod (TC)"),
		      LIMIT_AT_LEAST, 3);
}

int bench_wire(struct bench *bench)
{
	struct wire wire = {.bench = bench};
	int err = make_worlds(&wire);

	add_figures(&wire);
	for (unsigned int i = 0; i < TRIES * bench->rounds && !err; i++) {
		wire.again = i % TRIES;
		err = one_try(&wire, i);
	}
	if (!err)
		conclude(&wire);
	return err;
}
