// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of DNS, and a server that answers as it is told.
 *
 *   dns ask udp|tcp SERVER NAME [A|AAAA]         prints the addresses of the answer
 *
 *   dns race N udp|tcp SERVER NAME PORT [A|AAAA] N times: asks, and connects to the first address
 *                                                at once. Prints how many connections failed, and
 *                                                how many needed a second SYN
 *
 *   dns many N udp|tcp SERVER NAME [A|AAAA]      asks for N names below NAME; prints the address of
 *                                                the last answer
 *
 *   dns leave PORT ID SERVER NAME                asks from PORT with that transaction ID, and waits
 *                                                for no answer
 *
 *   dns smuggle SERVER NAME                      asks twice over one TCP connection, with the
 *                                                transaction IDs 1 and 2; reads all that comes
 *
 *   dns forge INTERFACE FROM-MAC TO-MAC SOURCE DESTINATION PORT ID COUNT NAME ADDRESS [CUT]
 *                                                sends COUNT frames, an answer of SOURCE to that
 *                                                question of PORT with ID and the next ones. CUT:
 *                                                in two IP fragments, the first with so many bytes;
 *                                                198.18.0.1 is in the answer, too
 *
 *   dns serve ADDRESS ANSWER                     answers each question over UDP and TCP
 *
 * ANSWER is a list of words. Each adds a record: a=10.0.0.1, aaaa=fd00::1, cname=NAME. The owner is
 * the question's name, or the last cname. ttl=N counts for the records behind it. Others make the
 * answer wrong: id, question, type, rcode, query (no answer), class, owner=NAME (of the next
 * records), port (from another port), cut (TC), many=N (addresses 198.18.x.y). each: one address,
 * which is another one each time, 198.18.x.y or fd98::x:y. pieces=N: over TCP, in segments of N
 * bytes. text=ADDRESS: over TCP, a record whose data are, from the second segment on, an answer to
 * the question with the next transaction ID, with that address.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MESSAGE 65535
#define PORT 53
#define WAIT 10000 /* ms */

struct message {
	size_t n;
	uint8_t at[MESSAGE];
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void put(struct message *m, const void *bytes, size_t n)
{
	if (m->n + n > sizeof(m->at))
		exit(2);
	memcpy(m->at + m->n, bytes, n);
	m->n += n;
}

static void put16(struct message *m, uint16_t number)
{
	number = htons(number);
	put(m, &number, sizeof(number));
}

static void put_name(struct message *m, const char *name)
{
	while (*name) {
		const uint8_t length = strcspn(name, ".");

		put(m, &length, 1);
		put(m, name, length);
		name += length + (name[length] == '.');
	}
	put(m, "", 1);
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static size_t skip_name(const struct message *m, size_t at)
{
	while (at < m->n && m->at[at] && m->at[at] < 0xc0)
		at += 1 + m->at[at];
	return at < m->n && m->at[at] >= 0xc0 ? at + 2 : at + 1;
}

static socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (void *)to;
	struct sockaddr_in6 *v6 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		exit(2);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return sizeof(*v6);
}

static int connect_to(const char *text, uint16_t port, int type, int wait)
{
	struct sockaddr_storage to;
	const socklen_t length = address_of(text, port, &to);
	const int fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		die("socket");
	if (connect(fd, (void *)&to, length) && errno != EINPROGRESS)
		goto fail;
	if (poll(&poll_fd, 1, wait) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ||
	    error)
		goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

static bool read_all(int fd, void *to, size_t n)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	for (ssize_t got; n; n -= got, to = (char *)to + got) {
		if (poll(&poll_fd, 1, WAIT) != 1)
			return false;
		got = read(fd, to, n);
		if (got <= 0)
			return false;
	}
	return true;
}

static uint16_t type_of(const char *text)
{
	return text && !strcmp(text, "AAAA") ? 28 : 1;
}

/* Makes @m a question. @tcp: with its length in front. */
static void put_question(struct message *m, bool tcp, uint16_t id, const char *name, uint16_t type)
{
	m->n = 0;
	if (tcp)
		put16(m, 0);
	put16(m, id);
	put(m, "\1\0\0\1\0\0\0\0\0\0", 10);
	put_name(m, name);
	put16(m, type);
	put16(m, 1);
	if (tcp)
		m->at[1] = m->n - 2;
}

/* Asks and waits for the answer. Returns false if none comes. */
static bool ask(bool tcp, const char *server, const char *name, uint16_t type, struct message *m)
{
	const int fd = connect_to(server, PORT, tcp ? SOCK_STREAM : SOCK_DGRAM, WAIT);
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	const uint16_t id = random();
	uint16_t length;
	bool there;

	if (fd < 0)
		return false;
	put_question(m, tcp, id, name, type);
	if (write(fd, m->at, m->n) != (ssize_t)m->n)
		die("write");
	if (tcp) {
		there = read_all(fd, &length, 2);
		m->n = there ? ntohs(length) : 0;
		there = there && read_all(fd, m->at, m->n);
	} else {
		there = poll(&poll_fd, 1, WAIT) == 1;
		m->n = there ? read(fd, m->at, sizeof(m->at)) : 0;
	}
	close(fd);
	return there && m->n > 12;
}

/* Prints the addresses, or copies the first. Returns how many there are. */
static int addresses(const struct message *m, char *first)
{
	size_t at = skip_name(m, 12) + 4;
	int n = 0;

	for (int i = get16(m->at + 6); i && at < m->n; i--) {
		char text[INET6_ADDRSTRLEN];
		uint16_t type, length;

		at = skip_name(m, at);
		type = get16(m->at + at);
		length = get16(m->at + at + 8);
		at += 10;
		if ((type == 1 || type == 28) && at + length <= m->n) {
			inet_ntop(type == 1 ? AF_INET : AF_INET6, m->at + at, text, sizeof(text));
			if (!first)
				puts(text);
			else if (!n)
				strcpy(first, text);
			n++;
		}
		at += length;
	}
	return n;
}

/* Connects to @address. Returns how many SYNs were sent again; -1: no connection. */
static int connects(const char *address, uint16_t port)
{
	const struct linger off = {.l_onoff = 1};
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);
	/* A lost SYN is sent again after 1, 3 and 7 s. */
	const int fd = connect_to(address, port, SOCK_STREAM, WAIT);

	if (fd < 0)
		return -1;
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	close(fd);
	return info.tcpi_total_retrans;
}

/* Asks until an answer comes: a datagram may be lost. */
static bool ask_again(char **argv, const char *name, const char *type, struct message *m)
{
	for (int i = 0; i < 3; i++)
		if (ask(!strcmp(argv[1], "tcp"), argv[2], name, type_of(type), m))
			return true;
	return false;
}

static int race(char **argv)
{
	static struct message m;
	const int n = atoi(argv[0]), port = atoi(argv[4]);
	char first[INET6_ADDRSTRLEN];
	int lost = 0, late = 0;

	for (int i = 0; i < n; i++) {
		int again;

		if (!ask_again(argv, argv[3], argv[5], &m) || !addresses(&m, first)) {
			lost++;
			continue;
		}
		again = connects(first, port);
		lost += again < 0;
		late += again > 0;
	}
	printf("%d lost, %d late\n", lost, late);
	return lost ? 1 : 0;
}

static int many(char **argv)
{
	static struct message m;
	const int n = atoi(argv[0]);
	char last[INET6_ADDRSTRLEN] = "", name[300];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%d.%s", i, argv[3]);
		if (!ask_again(argv, name, argv[4], &m) || !addresses(&m, last))
			return 1;
	}
	puts(last);
	return 0;
}

static int leave(char **argv)
{
	static struct message m;
	struct sockaddr_storage from, to;
	const socklen_t length = address_of(argv[2], PORT, &to);
	const int fd = socket(to.ss_family, SOCK_DGRAM, 0);

	address_of(to.ss_family == AF_INET ? "0.0.0.0" : "::", atoi(argv[0]), &from);
	put_question(&m, false, atoi(argv[1]), argv[3], 1);
	if (bind(fd, (void *)&from, length) || sendto(fd, m.at, m.n, 0, (void *)&to, length) < 0)
		die("leave");
	return 0;
}

static int smuggle(char **argv)
{
	static struct message m;
	const int fd = connect_to(argv[0], PORT, SOCK_STREAM, WAIT);
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	for (int id = 1; fd >= 0 && id <= 2; id++) {
		put_question(&m, true, id, argv[1], 1);
		if (write(fd, m.at, m.n) != (ssize_t)m.n)
			die("write");
	}
	m.n = 0;
	while (fd >= 0 && poll(&poll_fd, 1, WAIT) == 1) {
		const ssize_t n = read(fd, m.at, sizeof(m.at));

		if (n <= 0)
			break;
		m.n += n;
	}
	printf("%zu bytes\n", m.n);
	return m.n ? 0 : 1;
}

static void put_record(struct message *m, const char *owner, uint16_t type, uint32_t ttl,
		       const void *data, uint16_t length)
{
	if (owner)
		put_name(m, owner);
	else
		put(m, "\300\14", 2);
	put16(m, type);
	put16(m, 1);
	put16(m, ttl >> 16);
	put16(m, ttl);
	put16(m, length);
	put(m, data, length);
}

static int answer_word(struct message *m, const char *word, const char **owner, uint32_t *ttl)
{
	const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
	static struct message name;
	uint8_t address[16];
	int n = 1;

	if (!strncmp(word, "a=", 2) && inet_pton(AF_INET, value, address)) {
		put_record(m, *owner, 1, *ttl, address, 4);
	} else if (!strncmp(word, "aaaa=", 5) && inet_pton(AF_INET6, value, address)) {
		put_record(m, *owner, 28, *ttl, address, 16);
	} else if (!strncmp(word, "cname=", 6)) {
		name.n = 0;
		put_name(&name, value);
		put_record(m, *owner, 5, *ttl, name.at, name.n);
		*owner = value;
	} else if (!strcmp(word, "each")) {
		static uint32_t last;
		const bool v4 = m->at[m->n - 3] == 1;

		last++;
		put_record(m, *owner, v4 ? 1 : 28, *ttl,
			   v4 ? (uint8_t[16]){198, 18, last >> 8, last}
			      : (uint8_t[16]){0xfd, 0x98, [13] = last >> 16, last >> 8, last},
			   v4 ? 4 : 16);
	} else if (!strncmp(word, "many=", 5)) {
		n = atoi(value);
		for (int i = 0; i < n; i++)
			put_record(m, *owner, 1, *ttl,
				   (uint8_t[]){198, 18, (i + 1) >> 8, (i + 1) & 255}, 4);
	} else {
		if (!strncmp(word, "ttl=", 4))
			*ttl = atoi(value);
		else if (!strncmp(word, "owner=", 6))
			*owner = value;
		return 0;
	}
	return n;
}

/* Turns the question in @m into the answer. */
static void answer(struct message *m, char **words)
{
	const char *owner = NULL;
	uint32_t ttl = 3600;
	uint16_t records = 0;

	m->n = skip_name(m, 12) + 4;
	m->at[2] |= 0x80;
	m->at[3] = 0x80;
	memset(m->at + 8, 0, 4);
	for (char **word = words; *word; word++) {
		if (!strcmp(*word, "id"))
			m->at[0] ^= 1;
		else if (!strcmp(*word, "question"))
			m->at[13] ^= 3;
		else if (!strcmp(*word, "type"))
			m->at[m->n - 3] ^= 28 ^ 1;
		else if (!strcmp(*word, "rcode"))
			m->at[3] |= 3;
		else if (!strcmp(*word, "query"))
			m->at[2] &= 0x7f;
		else if (!strcmp(*word, "cut"))
			m->at[2] |= 2;
		else if (!strcmp(*word, "class"))
			m->at[m->n - 1] = 3;
		else
			records += answer_word(m, *word, &owner, &ttl);
	}
	m->at[6] = records >> 8;
	m->at[7] = records;
}

static void serve_udp(int fd, int other, char **words)
{
	static struct message m;
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	const ssize_t n = recvfrom(fd, m.at, sizeof(m.at), 0, (void *)&from, &length);
	bool elsewhere = false;

	if (n <= 12)
		return;
	for (char **word = words; *word; word++)
		elsewhere |= !strcmp(*word, "port");
	m.n = n;
	answer(&m, words);
	sendto(elsewhere ? other : fd, m.at, m.n, 0, (void *)&from, length);
}

/* Adds to the answer @m a record whose data are an answer to the next question. Returns how many
 * bytes are in front of that answer. */
static size_t put_text(struct message *m, const char *address)
{
	static struct message data;
	const size_t question = skip_name(m, 12) + 4;
	uint8_t bytes[4];
	size_t before;

	inet_pton(AF_INET, address, bytes);
	data.n = 0;
	put16(&data, 0);
	put(&data, m->at, question);
	data.at[3]++; /* the transaction ID */
	data.at[9] = 1; /* number of answers */
	put_record(&data, NULL, 1, 3600, bytes, 4);
	data.at[1] = data.n - 2;
	before = m->n + 12;
	put_record(m, NULL, 16, 3600, data.at, data.n);
	m->at[7]++;
	return before;
}

static const char *word_value(char **words, const char *name)
{
	for (; *words; words++)
		if (!strncmp(*words, name, strlen(name)) && (*words)[strlen(name)] == '=')
			return *words + strlen(name) + 1;
	return NULL;
}

/* Writes a segment of @first bytes, and then segments of @size bytes. */
static void write_pieces(int fd, const struct message *m, size_t first, size_t size)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (size_t at = 0, n = first; at < m->n; at += n, n = size) {
		n = n < m->n - at ? n : m->n - at;
		if (write(fd, m->at + at, n) < 0)
			perror("write");
	}
}

static void serve_tcp(int listener, char **words)
{
	static struct message m, whole;
	const char *pieces = word_value(words, "pieces"), *text = word_value(words, "text");
	const int fd = accept(listener, NULL, NULL);
	uint16_t length;
	size_t size, first;

	if (fd >= 0 && read_all(fd, &length, 2) && read_all(fd, m.at, ntohs(length))) {
		m.n = ntohs(length);
		answer(&m, words);
		size = pieces ? (size_t)atoi(pieces) : MESSAGE;
		first = text ? 2 + put_text(&m, text) : size;
		whole.n = 0;
		put16(&whole, m.n);
		put(&whole, m.at, m.n);
		write_pieces(fd, &whole, first, size);
		if (text) /* what is unread would make close() a reset */
			shutdown(fd, SHUT_WR);
		while (text && read(fd, m.at, sizeof(m.at)) > 0)
			continue;
	}
	close(fd);
}

static int bound(const char *text, uint16_t port, int type)
{
	struct sockaddr_storage at;
	const socklen_t length = address_of(text, port, &at);
	const int fd = socket(at.ss_family, type | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (void *)&at, length) || (type == SOCK_STREAM && listen(fd, 64)))
		die("bind");
	return fd;
}

static int serve(char **argv)
{
	const int other = bound(argv[0], 0, SOCK_DGRAM);
	struct pollfd fds[2] = {{.fd = bound(argv[0], PORT, SOCK_DGRAM), .events = POLLIN},
				{.fd = bound(argv[0], PORT, SOCK_STREAM), .events = POLLIN}};

	puts("ready");
	fflush(stdout);
	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			serve_udp(fds[0].fd, other, argv + 1);
		if (fds[1].revents)
			serve_tcp(fds[1].fd, argv + 1);
	}
	return 1;
}

/* ---- frames ---- */

/* Puts an IP header for @n bytes of UDP, or of one of its fragments. */
static void put_ip(struct message *frame, char **ends, size_t n, uint16_t fragment)
{
	struct iphdr v4 = {.version = 4,
			   .ihl = 5,
			   .tot_len = htons(sizeof(v4) + n),
			   .id = 1,
			   .frag_off = htons(fragment),
			   .ttl = 64,
			   .protocol = IPPROTO_UDP};
	struct ipv6hdr v6 = {
		.version = 6, .payload_len = htons(n), .nexthdr = IPPROTO_UDP, .hop_limit = 64};

	if (inet_pton(AF_INET, ends[0], &v4.saddr) == 1 &&
	    inet_pton(AF_INET, ends[1], &v4.daddr) == 1) {
		v4.check = htons(~helper_sum(&v4, sizeof(v4), 0));
		put(frame, &v4, sizeof(v4));
	} else if (inet_pton(AF_INET6, ends[0], &v6.saddr) == 1 &&
		   inet_pton(AF_INET6, ends[1], &v6.daddr) == 1) {
		put(frame, &v6, sizeof(v6));
	} else {
		exit(2);
	}
}

struct wire {
	int fd;
	struct sockaddr_ll to;
	uint8_t macs[12];
	char **ends; /* source and destination */
};

static void send_frame(const struct wire *wire, const uint8_t *udp, size_t n, uint16_t fragment)
{
	static struct message frame;
	const uint16_t kind = strchr(wire->ends[0], ':') ? ETH_P_IPV6 : ETH_P_IP;

	frame.n = 0;
	put(&frame, wire->macs, sizeof(wire->macs));
	put16(&frame, kind);
	put_ip(&frame, wire->ends, n, fragment);
	put(&frame, udp, n);
	if (sendto(wire->fd, frame.at, frame.n, 0, (void *)&wire->to, sizeof(wire->to)) < 0)
		die("send");
}

/* Makes @m the answer of a UDP packet, without a checksum. @more: with the record of another
 * address. */
static void put_forged(struct message *m, uint16_t port, uint16_t id, char **what, bool more)
{
	char record[64], *words[] = {record, more ? "many=1" : NULL, NULL};
	static struct message text;

	snprintf(record, sizeof(record), "a=%s", what[1]);
	put_question(&text, false, id, what[0], 1);
	answer(&text, words);
	m->n = 0;
	put16(m, PORT);
	put16(m, port);
	put16(m, sizeof(struct udphdr) + text.n);
	put16(m, 0);
	put(m, text.at, text.n);
}

static void read_mac(const char *text, uint8_t mac[6])
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4,
		   mac + 5) != 6)
		exit(2);
}

static int forge(char **argv)
{
	struct wire wire = {.fd = socket(AF_PACKET, SOCK_RAW, 0), .ends = argv + 3};
	static struct message m;
	const size_t cut = argv[10] ? atoi(argv[10]) : 0;

	wire.to = (struct sockaddr_ll){.sll_family = AF_PACKET,
				       .sll_ifindex = if_nametoindex(argv[0])};
	read_mac(argv[1], wire.macs + 6);
	read_mac(argv[2], wire.macs);
	for (int i = 0; i < atoi(argv[7]); i++) {
		put_forged(&m, atoi(argv[5]), atoi(argv[6]) + i, argv + 8, cut);
		if (!cut) {
			send_frame(&wire, m.at, m.n, 0);
			continue;
		}
		send_frame(&wire, m.at, cut, 0x2000);
		send_frame(&wire, m.at + cut, m.n - cut, cut / 8);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct message m;

	srandom(time(NULL) ^ getpid());
	if (argc > 4 && !strcmp(argv[1], "ask"))
		return ask(!strcmp(argv[2], "tcp"), argv[3], argv[4], type_of(argv[5]), &m) &&
				       addresses(&m, NULL)
			       ? 0
			       : 1;
	if (argc > 6 && !strcmp(argv[1], "race"))
		return race(argv + 2);
	if (argc > 5 && !strcmp(argv[1], "many"))
		return many(argv + 2);
	if (argc > 5 && !strcmp(argv[1], "leave"))
		return leave(argv + 2);
	if (argc > 3 && !strcmp(argv[1], "smuggle"))
		return smuggle(argv + 2);
	if (argc > 11 && !strcmp(argv[1], "forge"))
		return forge(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	return 2;
}
