// SPDX-License-Identifier: GPL-2.0-only
/*
 * A DNS server that has its own data, for tests of resolvers and of what learns from their answers.
 *
 *   authority FILE ADDRESS PORT
 *
 * answers over UDP and TCP from FILE, which it reads anew when it has changed. A line is a record,
 * "NAME TTL TYPE DATA": TYPE is A, AAAA, CNAME, or HOP, a CNAME that is answered alone, so that the
 * resolver has to ask for its target. NAME may begin with "*.". "NAME TTL TURN N" in front of
 * addresses of NAME: each answer has the next N of them. Over UDP an answer that is longer than the
 * asker takes is cut, as servers do. Names that no line has do not exist. Prints "ready" once it
 * listens.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define RECORDS_MAX 2048
#define MESSAGE_MAX 65535
#define CHAIN_MAX 16

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28, TYPE_OPT = 41, TYPE_HOP = 70000, TYPE_TURN };

struct record {
	char name[256]; /* in lower case, without a dot at its end */
	uint32_t ttl;
	int type;
	char target[256]; /* a CNAME's */
	uint8_t address[16];
	unsigned int turn, next; /* TYPE_TURN: so many at a time, and the first of them */
};

struct message {
	uint8_t bytes[MESSAGE_MAX];
	size_t length, answers;
	size_t question; /* the end of the question */
};

static struct record records[RECORDS_MAX];
static size_t n_records;

/* ---- the file ---- */

static bool read_data(struct record *record, const char *type, const char *data)
{
	if (!strcmp(type, "A") || !strcmp(type, "AAAA")) {
		record->type = type[1] ? TYPE_AAAA : TYPE_A;
		return inet_pton(type[1] ? AF_INET6 : AF_INET, data, record->address) == 1;
	}
	if (!strcmp(type, "TURN")) {
		record->type = TYPE_TURN;
		record->turn = atoi(data);
		return record->turn;
	}
	record->type = !strcmp(type, "HOP") ? TYPE_HOP : TYPE_CNAME;
	snprintf(record->target, sizeof(record->target), "%s", data);
	return record->type == TYPE_HOP || !strcmp(type, "CNAME");
}

static void read_file(const char *path)
{
	char line[1024], name[256], type[16], data[256];
	FILE *file = fopen(path, "re");
	unsigned int ttl;

	if (!file) {
		helper_die(path);
		return;
	}
	n_records = 0;
	while (fgets(line, sizeof(line), file)) {
		struct record *record = &records[n_records];

		if (line[0] == '\n' || line[0] == '#')
			continue;
		*record = (struct record){0};
		if (n_records == RECORDS_MAX ||
		    sscanf(line, "%255s %u %15s %255s", name, &ttl, type, data) != 4 ||
		    !read_data(record, type, data)) {
			fprintf(stderr, "%s: no record: %s", path, line);
			exit(2);
		}
		memcpy(record->name, name, sizeof(name));
		record->ttl = ttl;
		n_records++;
	}
	fclose(file);
}

static void refresh(const char *path)
{
	static struct timespec read;
	struct stat now;

	if (stat(path, &now))
		helper_die(path);
	if (!memcmp(&now.st_mtim, &read, sizeof(read)))
		return;
	read = now.st_mtim;
	read_file(path);
}

/* ---- messages ---- */

static void put(struct message *message, const void *bytes, size_t n)
{
	if (message->length + n > MESSAGE_MAX)
		return;
	memcpy(message->bytes + message->length, bytes, n);
	message->length += n;
}

static void put16(struct message *message, uint16_t number)
{
	put(message, (uint8_t[]){number >> 8, number}, 2);
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static void put_name(struct message *message, const char *name)
{
	while (*name) {
		uint8_t n = strcspn(name, ".");

		put(message, &n, 1);
		put(message, name, n);
		name += n;
		name += *name == '.';
	}
	put(message, "", 1);
}

/* Reads the question's name as text in lower case. Returns where it ends; 0: there is none. */
static size_t get_name(const uint8_t *bytes, size_t length, char name[256])
{
	size_t at = 12, n = 0;

	while (at < length && bytes[at]) {
		if (bytes[at] > 63 || at + 1 + bytes[at] >= length || n + bytes[at] + 1 > 255)
			return 0;
		for (size_t i = 1; i <= bytes[at]; i++)
			name[n++] = tolower(bytes[at + i]);
		name[n++] = '.';
		at += 1 + bytes[at];
	}
	name[n ? n - 1 : 0] = '\0';
	return at < length ? at + 1 : 0;
}

static bool has_name(const struct record *record, const char *name)
{
	size_t length = strlen(name), suffix = strlen(record->name);

	if (record->name[0] != '*')
		return !strcmp(record->name, name);
	return length >= suffix && !strcmp(record->name + 1, name + length - suffix + 1);
}

static void put_record(struct message *message, const struct record *record, const char *name)
{
	int type = record->type == TYPE_HOP ? TYPE_CNAME : record->type;
	size_t at;

	put_name(message, name);
	put16(message, type);
	put16(message, 1);
	put16(message, record->ttl >> 16);
	put16(message, record->ttl);
	put16(message, 0);
	at = message->length;
	if (type == TYPE_CNAME)
		put_name(message, record->target);
	else
		put(message, record->address, type == TYPE_A ? 4 : 16);
	message->bytes[at - 2] = (message->length - at) >> 8;
	message->bytes[at - 1] = message->length - at;
	message->answers++;
}

/* Puts the addresses of @name, all or those whose turn it is. Returns true if the name exists. */
static bool put_addresses(struct message *message, const char *name, int type)
{
	struct record *turn = NULL, *of[RECORDS_MAX];
	bool exists = false;
	size_t n = 0;

	for (size_t i = 0; i < n_records; i++) {
		if (!has_name(&records[i], name))
			continue;
		exists = true;
		if (records[i].type == TYPE_TURN)
			turn = &records[i];
		else if (records[i].type == type)
			of[n++] = &records[i];
	}
	for (size_t i = 0; i < n && (!turn || i < turn->turn); i++)
		put_record(message, of[((turn ? turn->next : 0) + i) % n], name);
	if (turn && n)
		turn->next = (turn->next + turn->turn) % n;
	return exists;
}

static const struct record *alias_of(const char *name)
{
	for (size_t i = 0; i < n_records; i++)
		if ((records[i].type == TYPE_CNAME || records[i].type == TYPE_HOP) &&
		    has_name(&records[i], name))
			return &records[i];
	return NULL;
}

/* Puts the chain of @name and the addresses at its end. Returns true if the name exists. */
static bool put_answers(struct message *message, const char *name, int type)
{
	const struct record *alias = alias_of(name);

	for (int i = 0; alias && i < CHAIN_MAX; i++) {
		put_record(message, alias, name);
		if (type == TYPE_CNAME || alias->type == TYPE_HOP)
			return true;
		name = alias->target;
		alias = alias_of(name);
	}
	return put_addresses(message, name, type) || message->answers;
}

/* The size that the asker takes over UDP: of its OPT record, or 512. */
static size_t size_of(const uint8_t *query, size_t length, size_t at)
{
	if (!get16(query + 10) || at + 11 > length || query[at] ||
	    get16(query + at + 1) != TYPE_OPT)
		return 0;
	return get16(query + at + 3) < 512 ? 512 : get16(query + at + 3);
}

/* Makes the answer to @query. Returns false: there is none. */
static bool answer(const uint8_t *query, size_t length, bool udp, struct message *message)
{
	size_t end, edns;
	char name[256];
	bool exists;

	if (length < 12 || query[2] & 0x80 || get16(query + 4) != 1)
		return false;
	end = get_name(query, length, name);
	if (!end || end + 4 > length)
		return false;
	edns = size_of(query, length, end + 4);
	message->length = message->answers = 0;
	put(message, query, end + 4);
	exists = put_answers(message, name, get16(query + end));
	message->bytes[2] = 0x84 | (query[2] & 1);
	message->bytes[3] = exists ? 0 : 3;
	if (udp && message->length + 11 > (edns ? edns : 512)) {
		message->length = end + 4;
		message->answers = 0;
		message->bytes[2] |= 0x02;
	}
	message->bytes[6] = message->answers >> 8;
	message->bytes[7] = message->answers;
	memset(message->bytes + 8, 0, 4);
	message->bytes[11] = !!edns;
	if (edns)
		put(message, (uint8_t[]){0, 0, TYPE_OPT, 0x10, 0, 0, 0, 0, 0, 0, 0}, 11);
	return true;
}

/* ---- sockets ---- */

static int listen_at(int type, const char *address, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t size = helper_address(address, port, &at);
	int fd = socket(at.ss_family, type | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&at, size) || (type == SOCK_STREAM && listen(fd, 64)))
		helper_die(address);
	return fd;
}

static void serve_udp(int fd)
{
	static struct message message;
	static uint8_t query[MESSAGE_MAX];
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	ssize_t n = recvfrom(fd, query, sizeof(query), 0, (void *)&from, &size);

	if (n > 0 && answer(query, n, true, &message))
		sendto(fd, message.bytes, message.length, 0, (void *)&from, size);
}

/* Answers one question and ends the connection, so that no idle asker makes another one wait. */
static void serve_tcp(int fd)
{
	static struct message message;
	static uint8_t query[MESSAGE_MAX];
	uint8_t size[2];
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	struct timeval wait = {.tv_sec = 5};

	if (peer < 0)
		return;
	setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (recv(peer, size, 2, MSG_WAITALL) == 2 &&
	    recv(peer, query, get16(size), MSG_WAITALL) == get16(size) &&
	    answer(query, get16(size), false, &message)) {
		size[0] = message.length >> 8;
		size[1] = message.length;
		if (send(peer, size, 2, MSG_NOSIGNAL | MSG_MORE) == 2)
			send(peer, message.bytes, message.length, MSG_NOSIGNAL);
	}
	close(peer);
}

int main(int argc, char **argv)
{
	struct pollfd sockets[2];
	uint16_t port;

	if (argc != 4) {
		fprintf(stderr, "usage: authority FILE ADDRESS PORT\n");
		return 2;
	}
	port = atoi(argv[3]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	refresh(argv[1]);
	sockets[0] = (struct pollfd){listen_at(SOCK_DGRAM, argv[2], port), POLLIN, 0};
	sockets[1] = (struct pollfd){listen_at(SOCK_STREAM, argv[2], port), POLLIN, 0};
	helper_ready();
	for (;;) {
		if (poll(sockets, 2, -1) < 0 && errno != EINTR)
			helper_die("poll");
		refresh(argv[1]);
		if (sockets[0].revents)
			serve_udp(sockets[0].fd);
		if (sockets[1].revents)
			serve_tcp(sockets[1].fd);
	}
}
