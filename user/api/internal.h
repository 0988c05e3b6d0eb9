/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of api/ share. */
#ifndef BULKHEAD_API_INTERNAL_H
#define BULKHEAD_API_INTERNAL_H

#include <curl/curl.h>

#include "api/api.h"

/* Where the server is and how to log in. Strings are malloc'ed; NULL: not said. */
struct api_config {
	char *server; /* without a slash at its end */
	char *ca_file, *certificate_file, *key_file, *token_file;
	char *ca, *certificate, *key, *token; /* the same as text, which goes before a file */
	char *name; /* for TLS, where it is not the server's: tls-server-name */
};

int api_config_read(const char *kubeconfig, struct diag *diag, struct api_config *config);
void api_config_free(struct api_config *config);

/* Bytes that grow; always with a NUL behind them once there are any. */
struct api_buffer {
	char *at;
	size_t n, room;
};
int api_buffer_add(struct api_buffer *buffer, const void *bytes, size_t n); /* 0 or -ENOMEM */
void api_buffer_free(struct api_buffer *buffer);

/* One exchange with the server: a request's, or a watch's stream. */
struct api_transfer {
	struct api *api;
	CURL *easy;
	struct curl_slist *headers;
	char *path; /* for messages */
	char *body; /* that is sent */
	char error[CURL_ERROR_SIZE];
	struct api_buffer received;
	/* A stream's: what has come since the last call. NULL: the whole is kept in `received`.
	 * Returns 0, or ends the transfer. */
	int (*part)(void *data, const char *bytes, size_t n);
	/* It is over, and is freed when this returns. @status 0: without an answer. */
	void (*ended)(void *data, struct api_transfer *transfer, long status);
	void *data;
	bool streams; /* what is received is for part() */
	bool timed_out; /* the server said nothing for too long */
	struct api_transfer *next;
};

struct api_transfer_options {
	const char *method, *path;
	const char *body; /* JSON text, or NULL */
	const char *accept; /* what form of answer; NULL: JSON */
	unsigned int seconds; /* it may take; 0: as long as it likes */
	bool anew; /* by a new connection: an old one may hang */
	int (*part)(void *data, const char *bytes, size_t n);
	void (*ended)(void *data, struct api_transfer *transfer, long status);
	void *data;
};

/* NULL: no memory. */
struct api_transfer *api_transfer_begin(struct api *api,
					const struct api_transfer_options *options);
/* Without calling ended(). */
void api_transfer_end(struct api_transfer *transfer);

/* What went wrong, from a transfer's answer or for want of one. */
const char *api_transfer_error(const struct api_transfer *transfer, long status,
			       struct json_object *body);

struct api_counts *api_counting(struct api *api);
struct diag *api_diag(struct api *api);
/* All watches, so that they can start anew where the server hangs. */
struct api_watch **api_watches(struct api *api);
void api_watch_restart(struct api_watch *watch);
struct api_watch **api_watch_next(struct api_watch *watch);

#endif
