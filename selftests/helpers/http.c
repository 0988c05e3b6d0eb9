// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request to a server of this network namespace, for scripts that ask many times: starts in a
 * tenth of the time that curl takes.
 *
 *   http METHOD PORT PATH [BODY]    prints the answer's body; a BODY of @FILE is in that file
 *
 * Exits 1 if the answer's status is 400 or above, and 2 if there is no answer within 60 s.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define LIMIT_S 60
#define ANSWER_MAX (64u << 20)

static int connect_to(uint16_t port)
{
	struct sockaddr_in server = {.sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval limit = {.tv_sec = LIMIT_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		helper_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)))
		helper_die("connect");
	return fd;
}

/* Returns all that the descriptor still has, with a null byte behind. */
static char *read_all(int fd)
{
	static char bytes[ANSWER_MAX + 1];
	size_t n = 0;
	ssize_t got;

	while (n < ANSWER_MAX && (got = read(fd, bytes + n, ANSWER_MAX - n))) {
		if (got < 0)
			helper_die("read");
		n += got;
	}
	bytes[n] = '\0';
	return strdup(bytes);
}

static char *read_body(const char *text)
{
	FILE *file;

	if (*text != '@')
		return strdup(text);
	file = fopen(text + 1, "re");
	if (!file)
		helper_die(text + 1);
	return read_all(fileno(file));
}

static void send_all(int fd, const char *bytes)
{
	for (size_t left = strlen(bytes); left;) {
		ssize_t sent = send(fd, bytes, left, MSG_NOSIGNAL);

		if (sent < 0)
			helper_die("send");
		bytes += sent;
		left -= sent;
	}
}

int main(int argc, char **argv)
{
	char head[4096], *answer, *body;
	int status, fd;

	if (argc < 4 || argc > 5)
		return fprintf(stderr, "usage: http METHOD PORT PATH [BODY]\n"), 2;
	body = argc > 4 ? read_body(argv[4]) : strdup("");
	fd = connect_to(atoi(argv[2]));
	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nContent-Length: %zu\r\n\r\n", argv[1],
		 argv[3], argv[2], strlen(body));
	send_all(fd, head);
	send_all(fd, body);
	answer = read_all(fd);
	body = strstr(answer, "\r\n\r\n");
	if (!body || sscanf(answer, "HTTP/1.%*d %d", &status) != 1)
		return 2;
	if (status >= 400)
		return 1;
	fputs(body + 4, stdout);
	return 0;
}
