// SPDX-License-Identifier: GPL-2.0-only
/* The HTTP server of engine and follower, by libmicrohttpd. The loop waits for its epoll file
 * descriptor. */
#include "cluster/serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "api/library.h"

#define CONNECTIONS_MAX 16
#define CONNECTION_SECONDS 10

#define MHD_FUNCTIONS(X)               \
	X(add_response_header)         \
	X(create_response_from_buffer) \
	X(destroy_response)            \
	X(get_daemon_info)             \
	X(get_timeout)                 \
	X(queue_response)              \
	X(run)                         \
	X(start_daemon)                \
	X(stop_daemon)
#define MHD_POINTER(name) __typeof__(MHD_##name) *name;
#define MHD_NAME(name) "MHD_" #name,
/* libmicrohttpd's functions: mhd.run() is MHD_run(). */
static struct {
	MHD_FUNCTIONS(MHD_POINTER)
} mhd;

static int load_library(struct diag *diag)
{
	static const char *const names[] = {MHD_FUNCTIONS(MHD_NAME)};

	return library_open("libmicrohttpd.so.12", names, sizeof(names) / sizeof(*names), &mhd,
			    diag);
}

struct serve {
	struct api *api;
	struct MHD_Daemon *daemon;
	struct api_timer timer; /* ends idle connections */
	void (*write)(void *data, FILE *to);
	void *data;
};

/* @body is malloc'ed; the answer frees it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *body)
{
	struct MHD_Response *response =
		body ? mhd.create_response_from_buffer(strlen(body), body, MHD_RESPMEM_MUST_FREE)
		     : NULL;
	enum MHD_Result result;

	if (!response) {
		free(body);
		return MHD_NO;
	}
	mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; version=0.0.4; charset=utf-8");
	result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

static char *metrics_text(const struct serve *serve)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	serve->write(serve->data, to);
	fclose(to);
	return text;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **begun)
{
	struct serve *serve = data;

	(void)version;
	(void)upload;
	/* The first call brings the headers. A request's body is not read. */
	if (!*begun) {
		*begun = serve;
		return MHD_YES;
	}
	*upload_size = 0;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, strdup("GET only\n"));
	if (!strcmp(url, "/metrics"))
		return answer(connection, MHD_HTTP_OK, metrics_text(serve));
	if (!strcmp(url, "/healthz"))
		return answer(connection, MHD_HTTP_OK, strdup("ok\n"));
	return answer(connection, MHD_HTTP_NOT_FOUND, strdup("/metrics or /healthz\n"));
}

static void run(void *data)
{
	struct serve *serve = data;
	MHD_UNSIGNED_LONG_LONG ms;

	mhd.run(serve->daemon);
	if (mhd.get_timeout(serve->daemon, &ms) == MHD_YES)
		api_timer_set(serve->api, &serve->timer, ms);
}

/* Resolves the address. Returns 0 or -EINVAL. Free *@found by freeaddrinfo(). */
static int resolve(const char *address, struct addrinfo **found)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(address, ':');
	size_t n = colon ? colon - address : 0;
	char host[64];

	if (!colon || !colon[1] || n >= sizeof(host))
		return -EINVAL;
	if (n > 1 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	memcpy(host, address, n);
	host[n] = '\0';
	return getaddrinfo(n ? host : NULL, colon + 1, &hints, found) ? -EINVAL : 0;
}

static int start(struct serve *serve, const struct addrinfo *at)
{
	const union MHD_DaemonInfo *info;
	unsigned int flags = MHD_USE_EPOLL | (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);

	errno = 0;
	serve->daemon =
		mhd.start_daemon(flags, 0, NULL, NULL, on_request, serve, MHD_OPTION_SOCK_ADDR,
				 at->ai_addr, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
				 MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS, MHD_OPTION_END);
	if (!serve->daemon)
		return errno ? -errno : -EADDRNOTAVAIL;
	info = mhd.get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EOPNOTSUPP;
	api_listen(serve->api, info->epoll_fd, run, serve);
	return 0;
}

int serve_open(struct api *api, const char *address, void (*write)(void *data, FILE *to),
	       void *data, struct diag *diag, struct serve **opened)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	struct addrinfo *at = NULL;
	int error;

	if (!serve)
		return -ENOMEM;
	error = load_library(diag);
	if (error) {
		free(serve);
		return error;
	}
	*serve = (struct serve){.api = api, .write = write, .data = data};
	serve->timer = (struct api_timer){.run = run, .data = serve};
	error = resolve(address, &at);
	if (!error)
		error = start(serve, at);
	if (at)
		freeaddrinfo(at);
	if (error) {
		diag_report(diag, DIAG_ERROR, NULL, NULL, "--listen %s: %s", address,
			    error == -EINVAL ? "not ADDRESS:PORT, in numbers" : strerror(-error));
		serve_close(serve);
		return error;
	}
	*opened = serve;
	return 0;
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	if (serve->daemon)
		mhd.stop_daemon(serve->daemon);
	api_listen(serve->api, -1, NULL, NULL);
	api_timer_stop(serve->api, &serve->timer);
	free(serve);
}
