// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead probe`: asks a running engine or follower whether it is live or ready, for a kubelet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/command.h"

#define PROBE_SECONDS 4 /* for an answer; a kubelet ends the probe itself */

/* Returns a connection to the socket, or -errno. */
static int connect_to(const char *path)
{
	const struct timeval limit = {.tv_sec = PROBE_SECONDS};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* Asks for a path. Returns the answer's status and its text in @text; or -errno. */
static int ask(const char *socket, const char *path, char *text, size_t size)
{
	char request[64];
	const int n = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
	int fd = connect_to(socket), status = -EPROTO;
	const char *body;
	size_t read_n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return fd;
	if (send(fd, request, n, MSG_NOSIGNAL) != n)
		got = -1;
	while (got >= 0 && read_n < size - 1 &&
	       (got = read(fd, text + read_n, size - 1 - read_n)) > 0)
		read_n += got;
	if (got < 0)
		status = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	if (got < 0)
		return status;
	text[read_n] = '\0';
	body = strstr(text, "\r\n\r\n");
	if (!body || sscanf(text, "HTTP/%*s %d", &status) != 1)
		return -EPROTO;
	memmove(text, body + 4, strlen(body + 4) + 1);
	text[strcspn(text, "\n")] = '\0';
	return status;
}

static int run(struct call *call)
{
	char text[1024];
	const char *path;
	int status;

	call_options(call, NULL);
	if (call->n_operands != 2)
		call_usage_error(call, "probe takes live or ready, and the socket of --health");
	if (!strcmp(call->operands[0], "live"))
		path = "/livez";
	else if (!strcmp(call->operands[0], "ready"))
		path = "/readyz";
	else
		call_usage_error(call, "%s: live or ready", call->operands[0]);
	status = ask(call->operands[1], path, text, sizeof(text));
	if (status < 0) {
		command_error("%s: %s", call->operands[1], strerror(-status));
		return STATUS_KERNEL;
	}
	printf("%s\n", text);
	return status == 200 ? STATUS_OK : STATUS_NO;
}

const struct command command_probe = {
	.name = "probe",
	.operands = "live|ready SOCKET",
	.help = "ask the engine or follower behind a --health socket whether it runs, and is ready",
	.words = "live ready",
	.run = run,
};
