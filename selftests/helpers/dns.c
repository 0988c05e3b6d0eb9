// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of DNS, and a server that answers as it is told.
 *
 *   dns ask udp|tcp SERVER NAME [A|AAAA]         prints the addresses of the answer
 *   dns race N udp|tcp SERVER NAME PORT [A|AAAA] N times: asks, and connects to the first address
 * at once; prints how many connections failed dns serve ADDRESS ANSWER                     answers
 * each question over UDP and TCP
 *
 * ANSWER is a list of words. Each adds a record: a=10.0.0.1, aaaa=fd00::1, cname=NAME. The owner is
 * the question's name, or the last cname. ttl=N counts for the records behind it. Others make the
 * answer wrong: id, question, type, rcode, query (no answer), owner=NAME (of the next records),
 * port (from another port), cut (TC), many=N (addresses 198.18.x.y).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
	m->n = 0;
	if (tcp)
		put16(m, 0);
	put16(m, id);
	put(m, "\1\0\0\1\0\0\0\0\0\0", 10);
	put_name(m, name);
	put16(m, type);
	put16(m, 1);
	if (tcp) {
		length = htons(m->n - 2);
		memcpy(m->at, &length, 2);
	}
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

static int race(char **argv)
{
	static struct message m;
	const int n = atoi(argv[0]), port = atoi(argv[4]);
	char first[INET6_ADDRSTRLEN];
	int lost = 0, fd;

	for (int i = 0; i < n; i++) {
		if (!ask(!strcmp(argv[1], "tcp"), argv[2], argv[3], type_of(argv[5]), &m) ||
		    !addresses(&m, first)) {
			lost++;
			continue;
		}
		/* less than the second after which a lost SYN is sent again */
		fd = connect_to(first, port, SOCK_STREAM, 900);
		lost += fd < 0;
		if (fd >= 0) {
			const struct linger off = {.l_onoff = 1};

			setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
			close(fd);
		}
	}
	printf("%d lost\n", lost);
	return lost ? 1 : 0;
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

static void serve_tcp(int listener, char **words)
{
	static struct message m, whole;
	const int fd = accept(listener, NULL, NULL);
	uint16_t length;

	if (fd >= 0 && read_all(fd, &length, 2) && read_all(fd, m.at, ntohs(length))) {
		m.n = ntohs(length);
		answer(&m, words);
		whole.n = 0;
		put16(&whole, m.n);
		put(&whole, m.at, m.n);
		if (write(fd, whole.at, whole.n) < 0)
			perror("write");
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
	if (argc > 2 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	return 2;
}
