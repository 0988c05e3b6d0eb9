// SPDX-License-Identifier: GPL-2.0-only
/* An exchange with the server, by libcurl: HTTP/2 over one connection if the server has it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/loop.h"

/* ms: a peer that acknowledges nothing for so long is gone. */
#define UNACKNOWLEDGED 20000
/* Bytes of the largest answer that is kept whole, where the caller says nothing else. */
#define ANSWER_MAX (256u << 20)

int api_buffer_add(struct api_buffer *buffer, const void *bytes, size_t n)
{
	if (buffer->n + n + 1 > buffer->capacity) {
		size_t capacity = (buffer->n + n + 1) * 3 / 2;
		char *at = realloc(buffer->at, capacity);

		if (!at)
			return -ENOMEM;
		buffer->at = at;
		buffer->capacity = capacity;
	}
	memcpy(buffer->at + buffer->n, bytes, n);
	buffer->n += n;
	buffer->at[buffer->n] = '\0';
	return 0;
}

void api_buffer_free(struct api_buffer *buffer)
{
	free(buffer->at);
	*buffer = (struct api_buffer){0};
}

static size_t receive(char *bytes, size_t size, size_t n, void *data)
{
	struct api_transfer *transfer = data;
	struct api_buffer *buffer = &transfer->received;
	long status = 0;

	n *= size;
	transfer->api->counts.received += n;
	curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	transfer->streams = transfer->part && status == 200;
	transfer->excess = buffer->n + n > transfer->most;
	if (transfer->excess || api_buffer_add(buffer, bytes, n))
		return 0;
	return n;
}

/* The line after the last header is empty. */
static size_t on_header(char *line, size_t size, size_t n, void *data)
{
	struct api_transfer *transfer = data;
	long status = 0;

	n *= size;
	curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (transfer->began && status == 200 && n && (*line == '\r' || *line == '\n'))
		transfer->begins = true;
	return n;
}

static int on_socket(void *data, curl_socket_t fd, curlsocktype purpose)
{
	unsigned int ms = UNACKNOWLEDGED;

	(void)data;
	(void)purpose;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
	struct curl_blob blob = {
		.data = (void *)text, .len = strlen(text), .flags = CURL_BLOB_COPY};

	curl.easy_setopt(easy, option, &blob);
}

static void set_credentials(CURL *easy, const struct api_config *config)
{
	if (config->ca)
		set_blob(easy, CURLOPT_CAINFO_BLOB, config->ca);
	else if (config->ca_file)
		curl.easy_setopt(easy, CURLOPT_CAINFO, config->ca_file);
	if (config->certificate)
		set_blob(easy, CURLOPT_SSLCERT_BLOB, config->certificate);
	else if (config->certificate_file)
		curl.easy_setopt(easy, CURLOPT_SSLCERT, config->certificate_file);
	if (config->key)
		set_blob(easy, CURLOPT_SSLKEY_BLOB, config->key);
	else if (config->key_file)
		curl.easy_setopt(easy, CURLOPT_SSLKEY, config->key_file);
}

/* Reads the current token without white space at its end; "": there is none. */
static void read_token(const struct api_config *config, char *token, size_t size)
{
	FILE *file = !config->token && config->token_file ? fopen(config->token_file, "re") : NULL;
	size_t n;

	if (file) {
		n = fread(token, 1, size - 1, file);
		fclose(file);
	} else {
		n = config->token ? strnlen(config->token, size - 1) : 0;
		memcpy(token, config->token ? config->token : "", n);
	}
	while (n && strchr(" \t\r\n", token[n - 1]))
		n--;
	token[n] = '\0';
}

static int add_header(struct api_transfer *transfer, const char *name, const char *value)
{
	struct curl_slist *list;
	char *line;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return -ENOMEM;
	list = curl.slist_append(transfer->headers, line);
	free(line);
	if (!list)
		return -ENOMEM;
	transfer->headers = list;
	return 0;
}

static int set_headers(struct api_transfer *transfer, const struct api_transfer_options *options)
{
	char token[8192], bearer[sizeof(token) + 8];
	int error = add_header(transfer, "Accept",
			       options->accept ? options->accept : "application/json");

	read_token(&transfer->api->config, token, sizeof(token));
	snprintf(bearer, sizeof(bearer), "Bearer %s", token);
	if (!error && *token)
		error = add_header(transfer, "Authorization", bearer);
	if (!error && options->body)
		error = add_header(transfer, "Content-Type",
				   strcmp(options->method, "PATCH")
					   ? "application/json"
					   : "application/merge-patch+json");
	curl.easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	return error;
}

/* Connects to the address of the server's URL, and expects a certificate of another name. The URL
 * then has that name. */
static int set_name(struct api_transfer *transfer, const char *server, const char *name, char **url)
{
	const char *host = strstr(server, "://") ? strstr(server, "://") + 3 : server;
	const size_t length = strcspn(host, "/");
	const char *bracket = memchr(host, ']', length);
	const char *port =
		memchr(bracket ? bracket : host, ':', length - (bracket ? bracket - host : 0));
	const size_t n = port ? (size_t)(port - host) : length;
	const char *number = port ? port + 1 : "443";
	const int n_number = port ? (int)(host + length - number) : 3;
	char *line;

	if (asprintf(&line, "::%.*s:%.*s", (int)n, host, n_number, number) < 0)
		return -ENOMEM;
	transfer->address = curl.slist_append(NULL, line);
	free(line);
	if (!transfer->address || asprintf(url, "https://%s:%.*s%s%s", name, n_number, number,
					   host + length, transfer->path) < 0)
		return -ENOMEM;
	curl.easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, transfer->address);
	return 0;
}

static int set_url(struct api_transfer *transfer)
{
	const struct api_config *config = &transfer->api->config;
	char *url;

	if (config->name) {
		if (set_name(transfer, config->server, config->name, &url))
			return -ENOMEM;
	} else if (asprintf(&url, "%s%s", config->server, transfer->path) < 0) {
		return -ENOMEM;
	}
	curl.easy_setopt(transfer->easy, CURLOPT_URL, url);
	free(url);
	return 0;
}

static void set_way(struct api_transfer *transfer, const struct api_transfer_options *options)
{
	const bool tls = !strncmp(transfer->api->config.server, "https:", 6);
	CURL *easy = transfer->easy;

	curl.easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
	curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl.easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	/* Plain HTTP has no streams within a connection: a request would wait for a watch's end. */
	curl.easy_setopt(easy, CURLOPT_PIPEWAIT, !options->anew && tls ? 1L : 0L);
	curl.easy_setopt(easy, CURLOPT_FRESH_CONNECT, options->anew ? 1L : 0L);
	curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
	curl.easy_setopt(easy, CURLOPT_TIMEOUT, (long)options->seconds);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 10L);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
	curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
	curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, options->method);
	set_credentials(easy, &transfer->api->config);
}

/* Returns 0 or -ENOMEM. */
static int add(struct api *api, struct api_transfer *transfer)
{
	if (curl.multi_add_handle(api->multi, transfer->easy))
		return -ENOMEM;
	transfer->next = api->transfers;
	api->transfers = transfer;
	return 0;
}

struct api_transfer *api_transfer_begin(struct api *api, const struct api_transfer_options *options)
{
	struct api_transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return NULL;
	transfer->api = api;
	transfer->most = options->most ? options->most : ANSWER_MAX;
	transfer->part = options->part;
	transfer->ended = options->ended;
	transfer->began = options->began;
	transfer->data = options->data;
	transfer->easy = curl.easy_init();
	transfer->path = strdup(options->path);
	transfer->body = options->body ? strdup(options->body) : NULL;
	if (!transfer->easy || !transfer->path || !transfer->body != !options->body)
		goto fail;
	set_way(transfer, options);
	if (set_url(transfer) || set_headers(transfer, options))
		goto fail;
	if (transfer->body) {
		curl.easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->body);
		api->counts.sent += strlen(transfer->body);
	}
	if (add(api, transfer))
		goto fail;
	return transfer;
fail:
	api_transfer_free(transfer);
	return NULL;
}

void api_transfer_remove(struct api_transfer *transfer)
{
	struct api *api = transfer->api;
	struct api_transfer **at = &api->transfers;

	while (*at && *at != transfer)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = transfer->next;
	curl.multi_remove_handle(api->multi, transfer->easy);
}

void api_transfer_free(struct api_transfer *transfer)
{
	curl.easy_cleanup(transfer->easy);
	curl.slist_free_all(transfer->headers);
	curl.slist_free_all(transfer->address);
	api_buffer_free(&transfer->received);
	free(transfer->path);
	free(transfer->body);
	free(transfer);
}

void api_transfer_end(struct api_transfer *transfer)
{
	api_transfer_remove(transfer);
	api_transfer_free(transfer);
}

const char *api_transfer_error(const struct api_transfer *transfer, long status,
			       struct json_object *body)
{
	const char *said = api_text(body, "message");

	if (status >= 200 && status < 300)
		return NULL;
	if (said)
		return said;
	if (*transfer->error)
		return transfer->error;
	return status ? "the server refuses" : "no answer";
}
