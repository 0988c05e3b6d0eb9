// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients outside that are DELAY ms away: COUNT of them, one after another from SOURCE on, connect
 * to a TCP server, send it a byte when its SYN-ACK has been on the way for DELAY, and wait for an
 * answer with data or for the acknowledgement of the byte. A SYN is sent three times at most, a
 * second apart, as a kernel does.
 *
 *   distant INTERFACE FROM-MAC TO-MAC SOURCE DESTINATION PORT DELAY COUNT
 *
 * prints how many were served, and how many of them by their first SYN. No host may have the
 * source addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define FLAG_SYN 2
#define FLAG_RST 4
#define FLAG_ACK 16
#define NUMBER 1000
#define WAIT_MS 15000
#define TRIES 50

struct client {
	uint8_t source[16], destination[16];
	bool v6;
	uint16_t sport, dport;
	uint8_t mac[2][6]; /* from, to */
	int fd;
};

static void put_ip(const struct client *c, uint8_t *at, size_t length)
{
	struct ipv6hdr *ip6 = (void *)at;
	struct iphdr *ip = (void *)at;

	if (c->v6) {
		*ip6 = (struct ipv6hdr){.version = 6, .nexthdr = IPPROTO_TCP, .hop_limit = 64};
		ip6->payload_len = htons(length);
		memcpy(&ip6->saddr, c->source, 16);
		memcpy(&ip6->daddr, c->destination, 16);
		return;
	}
	*ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
	ip->tot_len = htons(sizeof(*ip) + length);
	memcpy(&ip->saddr, c->source, 4);
	memcpy(&ip->daddr, c->destination, 4);
	ip->check = htons(~helper_sum(ip, sizeof(*ip), 0));
}

static void put(const struct client *c, uint8_t flags, uint32_t number, uint32_t acknowledged,
		size_t data)
{
	size_t size = c->v6 ? 16 : 4, at = ETH_HLEN + (c->v6 ? 40 : 20);
	uint8_t frame[128] = {0}, pseudo[32];
	struct ethhdr *eth = (void *)frame;
	struct tcphdr *tcp = (void *)(frame + at);
	size_t length = sizeof(*tcp) + data;

	memcpy(eth->h_source, c->mac[0], 6);
	memcpy(eth->h_dest, c->mac[1], 6);
	eth->h_proto = htons(c->v6 ? ETH_P_IPV6 : ETH_P_IP);
	put_ip(c, frame + ETH_HLEN, length);
	tcp->source = htons(c->sport);
	tcp->dest = htons(c->dport);
	tcp->seq = htonl(number);
	tcp->ack_seq = htonl(acknowledged);
	tcp->doff = 5;
	tcp->window = htons(65535);
	((uint8_t *)tcp)[13] = flags;
	memcpy(pseudo, c->source, size);
	memcpy(pseudo + size, c->destination, size);
	tcp->check =
		htons(~helper_sum(tcp, length, helper_sum(pseudo, 2 * size, IPPROTO_TCP + length)));
	if (send(c->fd, frame, at + length, 0) < 0 && errno != ENOBUFS)
		perror("send");
}

/* Returns the TCP header of a frame from the server to the client; NULL: another frame. */
static const struct tcphdr *read_tcp(const struct client *c, const uint8_t *frame, ssize_t n)
{
	size_t at = ETH_HLEN + (c->v6 ? 40 : 20), size = c->v6 ? 16 : 4;
	const uint8_t *from = frame + ETH_HLEN + (c->v6 ? 8 : 12);
	const struct tcphdr *tcp = (const void *)(frame + at);

	if (n < (ssize_t)(at + sizeof(*tcp)) || frame[12] != (c->v6 ? 0x86 : 8) ||
	    memcmp(from, c->destination, size) || memcmp(from + size, c->source, size) ||
	    tcp->source != htons(c->dport) || tcp->dest != htons(c->sport))
		return NULL;
	return tcp;
}

/* Waits for a segment with all of @flags. Returns false after @until, or at a RST. */
static bool await(const struct client *c, uint8_t flags, uint64_t until, struct tcphdr *got)
{
	struct pollfd poll_fd = {.fd = c->fd, .events = POLLIN};
	uint8_t frame[2048];

	while (helper_now() < until) {
		const struct tcphdr *tcp;
		ssize_t n;

		poll(&poll_fd, 1, until - helper_now());
		while ((n = recv(c->fd, frame, sizeof(frame), MSG_DONTWAIT)) > 0) {
			tcp = read_tcp(c, frame, n);
			if (!tcp)
				continue;
			if (((const uint8_t *)tcp)[13] & FLAG_RST)
				return false;
			if ((((const uint8_t *)tcp)[13] & flags) != flags)
				continue;
			*got = *tcp;
			return true;
		}
	}
	return false;
}

/* The kernel hands on only frames to the client's port, so that a flood does not fill the queue. */
static int listen_to(unsigned int ifindex, const struct client *c)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + (c->v6 ? 40 : 20) + 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->sport, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + (c->v6 ? 40 : 20)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->dport, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return perror("packet socket"), -1;
	return fd;
}

/* Sends the byte, again and again as a kernel does where a queue on the way is full. Returns true
 * once the server has acknowledged it. */
static bool says(const struct client *c, uint32_t acknowledged)
{
	struct tcphdr got;

	for (int i = 0; i < TRIES; i++) {
		uint64_t until = helper_now() + WAIT_MS / TRIES;

		put(c, FLAG_ACK, NUMBER + 1, acknowledged, 0);
		put(c, FLAG_ACK, NUMBER + 1, acknowledged, 1);
		while (await(c, FLAG_ACK, until, &got))
			if (ntohl(got.ack_seq) == NUMBER + 2)
				return true;
	}
	return false;
}

/* Returns by which SYN the client was served; 0: by none. */
static int serve(struct client *c, unsigned int ifindex, unsigned int delay)
{
	struct tcphdr got;
	int served = 0;

	c->fd = listen_to(ifindex, c);
	for (int i = 1; i <= 3 && !served && c->fd >= 0; i++) {
		put(c, FLAG_SYN, NUMBER, 0, 0);
		if (!await(c, FLAG_SYN | FLAG_ACK, helper_now() + 1000 * i, &got))
			continue;
		usleep(delay * 1000);
		served = says(c, ntohl(got.seq) + 1) ? i : 0;
		put(c, FLAG_RST | FLAG_ACK, NUMBER + 2, ntohl(got.seq) + 1, 0);
		break;
	}
	if (c->fd >= 0)
		close(c->fd);
	return served;
}

int main(int argc, char **argv)
{
	int served, all = 0, first = 0, count;
	struct client c = {0};
	unsigned int ifindex;

	if (argc != 9)
		return fprintf(stderr, "usage: distant INTERFACE FROM-MAC TO-MAC SOURCE "
				       "DESTINATION PORT DELAY COUNT\n"),
		       2;
	ifindex = if_nametoindex(argv[1]);
	for (int i = 0; i < 2; i++)
		sscanf(argv[2 + i], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &c.mac[i][0], &c.mac[i][1],
		       &c.mac[i][2], &c.mac[i][3], &c.mac[i][4], &c.mac[i][5]);
	c.v6 = strchr(argv[4], ':');
	if (!ifindex || inet_pton(c.v6 ? AF_INET6 : AF_INET, argv[4], c.source) != 1 ||
	    inet_pton(c.v6 ? AF_INET6 : AF_INET, argv[5], c.destination) != 1)
		return fprintf(stderr, "distant: bad interface or address\n"), 2;
	c.dport = atoi(argv[6]);
	count = atoi(argv[8]);
	for (int i = 0; i < count; i++) {
		c.source[c.v6 ? 15 : 3] += 1;
		c.sport = 40000 + i;
		served = serve(&c, ifindex, atoi(argv[7]));
		all += !!served;
		first += served == 1;
	}
	printf("%d %d\n", all, first);
	return 0;
}
