// SPDX-License-Identifier: GPL-2.0-only
/*
 * An API server's answers, read from files: for what lists and watches objects that do not change.
 *
 *   replay PORT DIR     answers GET /A/B?... over HTTP with the JSON in DIR/A/B.json, or 404; a
 * watch begins and never says anything; prints "ready" once it listens, and ends with the process
 * that started it
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_REQUEST 16384
#define MAX_PATH 4096

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 16))
		die("listen");
	return fd;
}

/* The head of one request; what follows it, of a POST, ends the connection with the answer. */
static bool read_head(int fd, char *head)
{
	size_t length = 0;
	ssize_t n;

	while (length < MAX_REQUEST - 1) {
		n = recv(fd, head + length, MAX_REQUEST - 1 - length, 0);
		if (n <= 0)
			return false;
		length += n;
		head[length] = 0;
		if (strstr(head, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void answer_file(int fd, const char *path)
{
	int file = strstr(path, "..") ? -1 : open(path + 1, O_RDONLY | O_CLOEXEC);
	struct stat about;
	off_t at = 0;

	if (file < 0 || fstat(file, &about)) {
		dprintf(fd,
			"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		return;
	}
	dprintf(fd,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		"Content-Length: %lld\r\nConnection: close\r\n\r\n",
		(long long)about.st_size);
	while (at < about.st_size && sendfile(fd, file, &at, about.st_size - at) > 0)
		;
	close(file);
}

/* A process of its own for each connection: a watch lasts as long as its client. */
static _Noreturn void converse(int fd)
{
	char head[MAX_REQUEST], target[MAX_PATH], path[MAX_PATH + sizeof(".json")], byte;
	char *query;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!read_head(fd, head) || sscanf(head, "GET %4095s", target) != 1)
		exit(0);
	query = strchr(target, '?');
	if (query)
		*query++ = 0;
	if (query && (strstr(query, "watch=true") || strstr(query, "watch=1"))) {
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Transfer-Encoding: chunked\r\n\r\n");
		while (recv(fd, &byte, 1, 0) > 0)
			;
		exit(0);
	}
	snprintf(path, sizeof(path), "%s.json", target);
	answer_file(fd, path);
	exit(0);
}

int main(int argc, char **argv)
{
	int listener, connection;

	if (argc != 3) {
		fprintf(stderr, "usage: replay PORT DIR\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	if (chdir(argv[2]))
		die(argv[2]);
	listener = listen_on(atoi(argv[1]));
	puts("ready");
	fflush(stdout);
	while ((connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (!fork())
			converse(connection);
		close(connection);
	}
	die("accept");
}
