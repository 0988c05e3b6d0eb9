// SPDX-License-Identifier: GPL-2.0-only
/*
 * A slow peer: answers each SYN to PORT that comes in by an interface, once, after DELAY ms; leaves
 * other packets alone.
 *
 *   slow INTERFACE PORT DELAY
 *
 * prints "ready" once it listens, and ends with the process that started it.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "selftests/helpers/lib/helper.h"

#define WAITING 64

struct answer {
	uint8_t bytes[128];
	size_t length;
	uint64_t due; /* ms */
};

static struct answer answers[WAITING];
static size_t n_answers;

static void swap(void *a, void *b, size_t n)
{
	uint8_t kept[16];

	memcpy(kept, a, n);
	memcpy(a, b, n);
	memcpy(b, kept, n);
}

/* Turns a SYN into its SYN-ACK. @addresses: source and destination, @size bytes each. */
static void turn(struct ethhdr *eth, uint8_t *addresses, size_t size, struct tcphdr *tcp)
{
	swap(eth->h_dest, eth->h_source, sizeof(eth->h_dest));
	swap(addresses, addresses + size, size);
	swap(&tcp->source, &tcp->dest, sizeof(tcp->source));
	tcp->ack_seq = htonl(ntohl(tcp->seq) + 1);
	tcp->seq = htonl(0x12345678); /* net_reset.sh knows it */
	tcp->ack = 1;
	tcp->doff = sizeof(*tcp) / 4;
	tcp->check = 0;
	tcp->check = htons(~helper_sum(
		tcp, sizeof(*tcp), helper_sum(addresses, 2 * size, IPPROTO_TCP + sizeof(*tcp))));
}

/* Returns the length of the answer in @frame, or 0 if the frame is no SYN to that port. */
static size_t answer(uint8_t *frame, size_t length, uint16_t port)
{
	struct ethhdr *eth = (void *)frame;
	struct iphdr *ip = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	bool v6 = eth->h_proto == htons(ETH_P_IPV6);
	struct tcphdr *tcp = v6 ? (void *)(ip6 + 1) : (void *)(ip + 1);

	if (length < sizeof(*eth) + sizeof(*ip6) + sizeof(*tcp) - (v6 ? 0 : 20) ||
	    (!v6 && eth->h_proto != htons(ETH_P_IP)) ||
	    (v6 ? ip6->nexthdr : ip->protocol) != IPPROTO_TCP || !tcp->syn || tcp->ack ||
	    tcp->dest != htons(port))
		return 0;
	if (v6) {
		ip6->payload_len = htons(sizeof(*tcp));
		turn(eth, (uint8_t *)&ip6->saddr, 16, tcp);
		return sizeof(*eth) + sizeof(*ip6) + sizeof(*tcp);
	}
	ip->tot_len = htons(sizeof(*ip) + sizeof(*tcp));
	ip->check = 0;
	turn(eth, (uint8_t *)&ip->saddr, 4, tcp);
	ip->check = htons(~helper_sum(ip, sizeof(*ip), 0));
	return sizeof(*eth) + sizeof(*ip) + sizeof(*tcp);
}

static void send_due(int fd)
{
	for (size_t i = 0; i < n_answers;) {
		if (answers[i].due > helper_now()) {
			i++;
			continue;
		}
		if (send(fd, answers[i].bytes, answers[i].length, 0) < 0)
			perror("send");
		answers[i] = answers[--n_answers];
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct sockaddr_ll from;
	struct pollfd poll_fd = {.events = POLLIN};
	uint8_t frame[2048];
	int fd;

	if (argc != 4)
		return fprintf(stderr, "usage: slow INTERFACE PORT DELAY\n"), 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	at.sll_ifindex = if_nametoindex(argv[1]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return perror(argv[1]), 2;
	puts("ready");
	fflush(stdout);
	poll_fd.fd = fd;
	for (;;) {
		socklen_t size = sizeof(from);
		ssize_t length;

		poll(&poll_fd, 1, 5);
		while ((length = recvfrom(fd, frame, sizeof(frame), MSG_DONTWAIT,
					  (struct sockaddr *)&from, &size)) > 0) {
			size_t n = from.sll_pkttype == PACKET_OUTGOING
					   ? 0
					   : answer(frame, length, atoi(argv[2]));

			if (!n || n_answers == WAITING)
				continue;
			memcpy(answers[n_answers].bytes, frame, n);
			answers[n_answers].length = n;
			answers[n_answers++].due = helper_now() + atoi(argv[3]);
		}
		send_due(fd);
	}
}
