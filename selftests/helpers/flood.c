// SPDX-License-Identifier: GPL-2.0-only
/*
 * A flood from spoofed sources, faster than sockets send: a program that BPF_PROG_TEST_RUN runs
 * with live frames sends SYNs or UDP datagrams out of a veth, RATE a second or as many as the
 * processor has time for, until SIGTERM. GRO must be on at the veth's peer.
 *
 *   flood INTERFACE FROM-MAC TO-MAC syn|udp SOURCE DESTINATION PORT RATE
 *
 * prints "ready" before the first frame, and at the end how many frames it has sent, and how many
 * a second. The last 17 bits of SOURCE and the port of the source are random.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftests/helpers/flood.h"
#include "selftests/helpers/lib/helper.h"
#include "flood.skel.h"

#define RANDOM_BITS 17
#define LOOPBACK 1
#define BURST_MS 20
#define DATA 8 /* bytes in a datagram */

static void parse_mac(const char *text, uint8_t mac[6])
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4,
		   mac + 5) != 6)
		errno = EINVAL, helper_die(text);
}

/* Clears the random bits of the last word of @source, and stores the word's others in the order. */
static void set_source(struct flood_order *order, void *source, size_t size)
{
	__be32 word, mask = htonl((1u << RANDOM_BITS) - 1);
	char *last = (char *)source + size - sizeof(word);

	memcpy(&word, last, sizeof(word));
	order->mask = mask;
	order->base = word & ~mask;
	memset(last, 0, sizeof(word));
}

/* Returns the sum of words in the order in which the program reads and writes them. */
static uint16_t sum(const void *bytes, size_t n, uint32_t total)
{
	return htons(helper_sum(bytes, n, total));
}

static size_t make_segment(const struct flood_order *order, union flood_segment *segment,
			   uint16_t port)
{
	if (order->tcp) {
		segment->tcp.dest = htons(port);
		segment->tcp.doff = sizeof(segment->tcp) / 4;
		segment->tcp.syn = 1;
		segment->tcp.window = htons(65535);
		return sizeof(segment->tcp);
	}
	segment->udp.dest = htons(port);
	segment->udp.len = htons(sizeof(segment->udp) + DATA);
	return sizeof(segment->udp) + DATA;
}

static void make_v4(struct flood_order *order, const char *addresses[2], uint16_t port)
{
	struct iphdr *ip = (void *)((char *)&order->frame + sizeof(struct ethhdr));
	union flood_segment *segment = &order->frame.v4.segment;
	uint8_t protocol = order->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	size_t length = make_segment(order, segment, port);
	struct sockaddr_storage from, to;

	helper_address(addresses[0], 0, &from);
	helper_address(addresses[1], 0, &to);
	*ip = (struct iphdr){.version = 4,
			     .ihl = sizeof(*ip) / 4,
			     .ttl = 64,
			     .protocol = protocol,
			     .tot_len = htons(sizeof(*ip) + length),
			     .saddr = ((struct sockaddr_in *)&from)->sin_addr.s_addr,
			     .daddr = ((struct sockaddr_in *)&to)->sin_addr.s_addr};
	set_source(order, &ip->saddr, sizeof(ip->saddr));
	order->ip_sum = sum(ip, sizeof(*ip), 0);
	order->l4_sum = sum(segment, length,
			    helper_sum(&ip->saddr, 2 * sizeof(ip->saddr), protocol + length));
}

static void make_v6(struct flood_order *order, const char *addresses[2], uint16_t port)
{
	struct ipv6hdr *ip = (void *)((char *)&order->frame + sizeof(struct ethhdr));
	union flood_segment *segment = &order->frame.v6.segment;
	uint8_t protocol = order->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	size_t length = make_segment(order, segment, port);
	struct sockaddr_storage from, to;

	helper_address(addresses[0], 0, &from);
	helper_address(addresses[1], 0, &to);
	*ip = (struct ipv6hdr){.version = 6,
			       .hop_limit = 64,
			       .nexthdr = protocol,
			       .payload_len = htons(length),
			       .saddr = ((struct sockaddr_in6 *)&from)->sin6_addr,
			       .daddr = ((struct sockaddr_in6 *)&to)->sin6_addr};
	set_source(order, &ip->saddr, sizeof(ip->saddr));
	order->l4_sum = sum(segment, length,
			    helper_sum(&ip->saddr, 2 * sizeof(ip->saddr), protocol + length));
}

static double now(void)
{
	return helper_now() / 1e3;
}

/* Sends @n frames. Returns how many were sent: a signal ends the call early. */
static uint64_t burst(int program, const struct flood_order *order, uint32_t n)
{
	struct xdp_md context = {.data_end = sizeof(order->frame),
				 .ingress_ifindex = order->ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = &order->frame,
		    .data_size_in = sizeof(order->frame), .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = n,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);

	if (!bpf_prog_test_run_opts(program, &run))
		return n;
	if (errno != EINTR)
		helper_die("BPF_PROG_TEST_RUN with live frames");
	return 0;
}

/* While the program is attached to an interface, calls of BPF_PROG_TEST_RUN do not wait for the
 * grace periods of RCU that adding it to the kernel's dispatcher, and removing it, take. */
static void attach(int program)
{
	if (bpf_xdp_attach(LOOPBACK, program, XDP_FLAGS_SKB_MODE, NULL))
		helper_die("XDP at lo");
}

static void flood(int program, const struct flood_order *order, uint32_t rate)
{
	double begin = now();
	uint64_t sent = 0;

	while (!helper_stopped) {
		double ahead = sent - (now() - begin) * rate;

		if (ahead > 0)
			usleep(ahead / rate * 1e6);
		else
			sent += burst(program, order, rate * BURST_MS / 1000 + 1);
	}
	printf("%llu %.0f\n", (unsigned long long)sent, sent / (now() - begin));
}

int main(int argc, char **argv)
{
	struct flood_order *order;
	struct flood *skeleton;

	if (argc != 9)
		return fprintf(stderr, "usage: flood INTERFACE FROM-MAC TO-MAC syn|udp SOURCE "
				       "DESTINATION PORT RATE\n"),
		       2;
	skeleton = flood__open_and_load();
	if (!skeleton)
		helper_die("the program");
	order = &skeleton->bss->order;
	order->ifindex = if_nametoindex(argv[1]);
	if (!order->ifindex)
		helper_die(argv[1]);
	parse_mac(argv[2], order->frame.ethernet.h_source);
	parse_mac(argv[3], order->frame.ethernet.h_dest);
	order->tcp = !strcmp(argv[4], "syn");
	order->v6 = !!strchr(argv[5], ':');
	order->frame.ethernet.h_proto = htons(order->v6 ? ETH_P_IPV6 : ETH_P_IP);
	(order->v6 ? make_v6 : make_v4)(order, (const char *[]){argv[5], argv[6]}, atoi(argv[7]));
	attach(bpf_program__fd(skeleton->progs.flood_send));
	helper_stop_on_term();
	helper_ready();
	flood(bpf_program__fd(skeleton->progs.flood_send), order, atoi(argv[8]));
	bpf_xdp_detach(LOOPBACK, XDP_FLAGS_SKB_MODE, NULL);
	flood__destroy(skeleton);
	return 0;
}
