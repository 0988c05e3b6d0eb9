// SPDX-License-Identifier: GPL-2.0-only
/* The HTTP servers of engine and follower, by libmicrohttpd. The loop waits for an epoll file
 * descriptor that holds those of the servers. */
#include "cluster/serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/library.h"
#include "cluster/page_cache.h"

#define HEALTH_CONNECTIONS 16
#define BIND_MS 5000 /* between attempts to use an address that another process uses */

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

enum { METRICS, HEALTH, DAEMONS };

struct pages;

/* An address and its pages. */
struct door {
	struct serve *serve;
	const struct pages *pages;
};

struct serve {
	struct api *api;
	struct serve_options options;
	struct diag *diag;
	struct MHD_Daemon *daemons[DAEMONS]; /* NULL: not started */
	struct door doors[DAEMONS];
	int epoll;
	bool bound; /* the health socket is this process's */
	struct api_timer timer; /* ends idle connections */
	struct api_timer again; /* tries the address for metrics again */
	struct page_cache metrics;
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

static char *metrics_text(void *data)
{
	const struct serve *serve = data;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	serve->options.metrics(serve->options.data, to);
	fclose(to);
	return text;
}

static enum MHD_Result answer_ready(struct serve *serve, struct MHD_Connection *connection)
{
	const char *missing = serve->options.missing(serve->options.data);
	char *text = NULL;

	if (!missing)
		return answer(connection, MHD_HTTP_OK, strdup("ok\n"));
	if (asprintf(&text, "%s\n", missing) < 0)
		text = NULL;
	return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result answer_metrics(struct serve *serve, struct MHD_Connection *connection)
{
	const char *text = page_cache_get(&serve->metrics, metrics_text, serve);

	return answer(connection, MHD_HTTP_OK, text ? strdup(text) : NULL);
}

static enum MHD_Result answer_alive(struct serve *serve, struct MHD_Connection *connection)
{
	(void)serve;
	return answer(connection, MHD_HTTP_OK, strdup("ok\n"));
}

/* What a daemon serves. */
struct page {
	const char *url;
	enum MHD_Result (*answer)(struct serve *serve, struct MHD_Connection *connection);
};
struct pages {
	struct page page[2];
	const char *names;
};
static const struct pages metrics_pages = {
	{{"/metrics", answer_metrics}, {"/healthz", answer_alive}}, "/metrics or /healthz\n"};
static const struct pages health_pages = {{{"/livez", answer_alive}, {"/readyz", answer_ready}},
					  "/livez or /readyz\n"};

static bool is_get(const char *method)
{
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

/* Each request begins with a call that brings the headers alone. A request's body is not read. */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **begun)
{
	const struct door *door = data;
	const bool first = !*begun;

	(void)version;
	(void)upload;
	*begun = data;
	if (first)
		return MHD_YES;
	*upload_size = 0;
	if (!is_get(method))
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, strdup("GET only\n"));
	for (int i = 0; i < 2; i++)
		if (!strcmp(url, door->pages->page[i].url))
			return door->pages->page[i].answer(door->serve, connection);
	return answer(connection, MHD_HTTP_NOT_FOUND, strdup(door->pages->names));
}

static void run(void *data)
{
	struct serve *serve = data;
	MHD_UNSIGNED_LONG_LONG ms, least = UINT32_MAX;

	for (int i = 0; i < DAEMONS; i++) {
		if (!serve->daemons[i])
			continue;
		mhd.run(serve->daemons[i]);
		if (mhd.get_timeout(serve->daemons[i], &ms) == MHD_YES && ms < least)
			least = ms;
	}
	if (least < UINT32_MAX)
		api_timer_set(serve->api, &serve->timer, least);
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

/* Lets the loop wait for a daemon that has started. */
static int add_daemon(struct serve *serve, int which)
{
	struct epoll_event event = {.events = EPOLLIN};
	const union MHD_DaemonInfo *info;

	if (!serve->daemons[which])
		return errno ? -errno : -EADDRNOTAVAIL;
	info = mhd.get_daemon_info(serve->daemons[which], MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EOPNOTSUPP;
	return epoll_ctl(serve->epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) ? -errno : 0;
}

static int start_metrics(struct serve *serve)
{
	struct addrinfo *at = NULL;
	unsigned int flags = MHD_USE_EPOLL;
	int error = resolve(serve->options.listen, &at);

	if (error)
		return error;
	if (at->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	serve->daemons[METRICS] = mhd.start_daemon(
		flags, 0, NULL, NULL, on_request, &serve->doors[METRICS], MHD_OPTION_SOCK_ADDR,
		at->ai_addr, MHD_OPTION_CONNECTION_LIMIT, SERVE_CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, SERVE_PER_ADDRESS,
		MHD_OPTION_CONNECTION_TIMEOUT, SERVE_SECONDS, MHD_OPTION_END);
	error = add_daemon(serve, METRICS);
	freeaddrinfo(at);
	return error;
}

static void listen_again(void *data)
{
	struct serve *serve = data;

	if (!start_metrics(serve))
		diag_note(serve->diag, NULL, NULL, "--listen %s: metrics are served",
			  serve->options.listen);
	else
		api_timer_set(serve->api, &serve->again, BIND_MS);
}

static int listen_metrics(struct serve *serve)
{
	int error = start_metrics(serve);

	if (!error)
		return 0;
	if (error == -EADDRINUSE) {
		diag_warn(serve->diag, NULL, NULL,
			  "--listen %s: another process uses the address; metrics are served once "
			  "it is free",
			  serve->options.listen);
		api_timer_set(serve->api, &serve->again, BIND_MS);
		return 0;
	}
	diag_error(serve->diag, NULL, NULL, "--listen %s: %s", serve->options.listen,
		   error == -EINVAL ? "not ADDRESS:PORT, in numbers" : strerror(-error));
	return error;
}

/* Returns a socket that listens at the path, or -errno. A socket that an earlier process left there
 * is replaced; another file is not. */
static int listen_socket(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat is;
	int fd, error;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, path);
	if (!lstat(path, &is) && S_ISSOCK(is.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) &&
	    !listen(fd, HEALTH_CONNECTIONS))
		return fd;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static int listen_health(struct serve *serve)
{
	int fd = listen_socket(serve->options.health), error = fd;

	if (fd >= 0) {
		serve->bound = true;
		errno = 0;
		serve->daemons[HEALTH] = mhd.start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, on_request, &serve->doors[HEALTH],
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			HEALTH_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, SERVE_SECONDS,
			MHD_OPTION_END);
		error = add_daemon(serve, HEALTH);
	}
	if (error && !serve->daemons[HEALTH] && fd >= 0)
		close(fd);
	if (error)
		diag_error(serve->diag, NULL, NULL, "--health %s: %s", serve->options.health,
			   strerror(-error));
	return error;
}

int serve_open(struct api *api, const struct serve_options *options, struct diag *diag,
	       struct serve **opened)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	int error;

	if (!serve)
		return -ENOMEM;
	*serve = (struct serve){.api = api, .options = *options, .diag = diag, .epoll = -1};
	serve->doors[METRICS] = (struct door){serve, &metrics_pages};
	serve->doors[HEALTH] = (struct door){serve, &health_pages};
	serve->timer = (struct api_timer){.run = run, .data = serve};
	serve->again = (struct api_timer){.run = listen_again, .data = serve};
	error = load_library(diag);
	if (!error) {
		serve->epoll = epoll_create1(EPOLL_CLOEXEC);
		error = serve->epoll < 0 ? -errno : 0;
	}
	if (!error && options->listen)
		error = listen_metrics(serve);
	if (!error && options->health)
		error = listen_health(serve);
	if (error) {
		serve_close(serve);
		return error;
	}
	api_listen(api, serve->epoll, run, serve);
	*opened = serve;
	return 0;
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	api_listen(serve->api, -1, NULL, NULL);
	api_timer_stop(serve->api, &serve->timer);
	api_timer_stop(serve->api, &serve->again);
	for (int i = 0; i < DAEMONS; i++)
		if (serve->daemons[i])
			mhd.stop_daemon(serve->daemons[i]);
	if (serve->bound)
		unlink(serve->options.health);
	if (serve->epoll >= 0)
		close(serve->epoll);
	page_cache_free(&serve->metrics);
	free(serve);
}
