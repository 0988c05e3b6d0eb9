// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/world.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/sender.h"
#include "bench_sender.skel.h"

/* Names of the hosts, and of the node's interface to each. */
static const char *const names[GUESTS] = {"pod0", "pod1", "out0"};
static const char *const node_names[GUESTS] = {"bench0", "bench1", "uplink"};

static int fail(const char *what)
{
	int err = -errno;

	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return err ? err : -EIO;
}

static int set_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done ? 0 : fail(path);
}

/* A veth takes frames from XDP only if its peer polls, which GRO turns on. */
static int set_gro(const char *name)
{
	struct ethtool_value value = {.cmd = ETHTOOL_SGRO, .data = 1};
	struct ifreq request = {.ifr_data = (void *)&value};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	err = fd < 0 || ioctl(fd, SIOCETHTOOL, &request) ? fail(name) : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Addresses begin at 10.0.0.1, MACs at 02::1, those of the node's side at 02::b:1. */
static int connect_host(const struct world *world, enum guest host)
{
	char batch[1024];
	int n = host + 1, err;

	snprintf(batch, sizeof(batch),
		 "link set %s netns /proc/%d/fd/%d\n"
		 "link set %s address 02:00:00:00:0b:%02x\n"
		 "route add 10.0.0.%d/32 dev %s\n"
		 "neigh replace 10.0.0.%d dev %s lladdr 02:00:00:00:00:%02x nud permanent\n",
		 names[host], getpid(), world->hosts[host], node_names[host], n, n,
		 node_names[host], n, node_names[host], n);
	err = place_enter(&world->node);
	err = err ? err : place_ip(batch);
	err = err ? err : set_gro(node_names[host]);
	err = err ? err : world_enter(world, host);
	snprintf(batch, sizeof(batch),
		 "link set %s address 02:00:00:00:00:%02x\n"
		 "link set %s addrgenmode none up\nlink set lo up\n"
		 "address add 10.0.0.%d/32 dev %s\n"
		 "route add 169.254.1.1 dev %s\nroute add default via 169.254.1.1 dev %s\n"
		 "neigh replace 169.254.1.1 dev %s lladdr 02:00:00:00:0b:%02x nud permanent\n",
		 names[host], n, names[host], n, names[host], names[host], names[host], names[host],
		 n);
	return err ? err : place_ip(batch);
}

int world_make(struct bench *bench, unsigned int number, struct world *world)
{
	int err = 0;

	for (int host = 0; host < GUESTS; host++) {
		if (unshare(CLONE_NEWNET))
			return fail("no network namespace");
		world->hosts[host] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	}
	err = place_make(bench, number, &world->node);
	err = err ? err
		  : place_ip("link add uplink type veth peer name out0\n"
			     "link set uplink addrgenmode none up\n");
	err = err ? err : set_sysctl("/proc/sys/net/ipv4/ip_forward", "1");
	err = err ? err : set_sysctl("/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal", "1");
	for (int host = 0; host < GUESTS && !err; host++)
		err = connect_host(world, host);
	return err;
}

int world_enter(const struct world *world, enum guest host)
{
	return setns(world->hosts[host], CLONE_NEWNET) ? fail("setns") : 0;
}

int world_sink(const struct world *world, enum guest host)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(WORLD_UDP),
		.sin_addr.s_addr = htonl(10 << 24 | (host + 1)),
	};
	int fd, err = world_enter(world, host);

	if (err)
		return err;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd < 0 || bind(fd, (void *)&address, sizeof(address)) ? fail("a UDP socket") : fd;
}

uint64_t world_received(const struct world *world, enum guest host)
{
	uint64_t bytes, packets = 0;
	char line[256], *at;
	FILE *devices;

	if (world_enter(world, host))
		return 0;
	devices = fopen("/proc/thread-self/net/dev", "r");
	while (devices && fgets(line, sizeof(line), devices)) {
		at = strstr(line, names[host]);
		if (at)
			sscanf(at + strlen(names[host]) + 1, "%" SCNu64 "%" SCNu64, &bytes,
			       &packets);
	}
	if (devices)
		fclose(devices);
	return packets;
}

/* ---- the sender ---- */

struct sender {
	struct bench_sender *skeleton;
};

int sender_open(struct sender **out)
{
	struct sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	sender->skeleton = bench_sender__open_and_load();
	if (!sender->skeleton)
		return fail("the sender's program");
	*out = sender;
	return 0;
}

int sender_drop(const struct sender *sender, const struct world *world)
{
	int err = place_enter(&world->node);

	if (err)
		return err;
	if (bpf_xdp_attach(if_nametoindex("uplink"), bpf_program__fd(sender->skeleton->progs.drop),
			   XDP_FLAGS_DRV_MODE, NULL))
		return fail("XDP at the uplink");
	return 0;
}

static size_t make_frame(uint8_t frame[64], const struct burst *burst)
{
	const uint8_t from = burst->from + 1, to = burst->to + 1;
	const size_t length = 60;
	struct ethhdr ethernet = {
		.h_dest = {2, 0, 0, 0, 0x0b, from},
		.h_source = {2, 0, 0, 0, 0, from},
		.h_proto = htons(ETH_P_IP),
	};
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(length - sizeof(ethernet)),
		.ttl = 64,
		.protocol = burst->syn ? IPPROTO_TCP : IPPROTO_UDP,
		.saddr = htonl(10 << 24 | from),
		.daddr = htonl(10 << 24 | to),
	};
	struct tcphdr tcp = {.dest = htons(WORLD_TCP), .doff = 5, .syn = 1};
	struct udphdr udp = {.source = htons(WORLD_UDP),
			     .dest = htons(WORLD_UDP),
			     .len = htons(length - sizeof(ethernet) - sizeof(ip))};
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(ip) / 2; i++)
		sum += ((uint16_t *)&ip)[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip.check = ~(sum + (sum >> 16));
	memset(frame, 0, 64);
	memcpy(frame, &ethernet, sizeof(ethernet));
	memcpy(frame + sizeof(ethernet), &ip, sizeof(ip));
	if (burst->syn)
		memcpy(frame + sizeof(ethernet) + sizeof(ip), &tcp, sizeof(tcp));
	else
		memcpy(frame + sizeof(ethernet) + sizeof(ip), &udp, sizeof(udp));
	return length;
}

int sender_run(struct sender *sender, const struct world *world, const struct burst *burst,
	       double *ns)
{
	struct bench_sender *skeleton = sender->skeleton;
	struct xdp_md context = {0};
	uint8_t frame[64];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame,
		    .data_size_in = make_frame(frame, burst), .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = burst->n,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	int err = world_enter(world, burst->from);

	if (err)
		return err;
	context.data_end = run.data_size_in;
	context.ingress_ifindex = if_nametoindex(names[burst->from]);
	skeleton->bss->order.ifindex = context.ingress_ifindex;
	skeleton->bss->order.flows = burst->flows;
	skeleton->bss->order.back = burst->back;
	memcpy(&skeleton->bss->order.headers, frame, sizeof(skeleton->bss->order.headers));
	if (bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.send), &run))
		return fail("BPF_PROG_TEST_RUN with live frames");
	/* the call waits for a grace period before it returns, which does not count */
	*ns = run.duration;
	return 0;
}
