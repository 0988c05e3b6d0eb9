/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of api/. */
#ifndef BULKHEAD_API_INTERNAL_H
#define BULKHEAD_API_INTERNAL_H

#include "api/curl.h"

#include "api/api.h"

/* Media type of an object's metadata. */
#define API_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
/* Media type of a list of such. */
#define API_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
/* The shortest answer that a server gives. */
#define API_BRIEF      \
	"application/" \
	"vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," API_METADATA

/* Where the server is and how to log in. Strings are malloc'ed; NULL: not given. */
struct api_config {
	char *server; /* URL without a slash at its end */
	char *ca_file, *certificate_file, *key_file, *token_file;
	char *ca, *certificate, *key, *token; /* the content of such files; counts before a file */
	/* tls-server-name: the name in the server's certificate, where it differs from the URL's */
	char *name;
};

int api_config_read(const char *kubeconfig, struct diag *diag, struct api_config *config);
void api_config_free(struct api_config *config);

/* Bytes that grow, with a NUL behind them once there are any. */
struct api_buffer {
	char *at;
	size_t n, capacity;
};
/* returns 0 or -ENOMEM */
int api_buffer_add(struct api_buffer *buffer, const void *bytes, size_t n);
void api_buffer_free(struct api_buffer *buffer);

/* An HTTP exchange with the server: a request, or a watch's stream. */
struct api_transfer {
	struct api *api;
	CURL *easy;
	struct curl_slist *headers;
	/* where to connect to in place of the URL's host; NULL: that host */
	struct curl_slist *address;
	char *path; /* for messages */
	char *body; /* body of the request */
	char error[CURL_ERROR_SIZE];
	struct api_buffer received;
	size_t most; /* bytes of the largest answer that is kept whole */
	/* Takes the bytes of a stream that have come since the last call. Returns 0, or another
	 * value to end the transfer. NULL: no stream; `received` keeps the whole answer. */
	int (*part)(void *data, const char *bytes, size_t n);
	/* The transfer is over, and is freed when the callback returns. @status 0: there was no
	 * answer. */
	void (*ended)(void *data, struct api_transfer *transfer, long status);
	/* The server has begun to answer with 200: a stream sends nothing more until its first
	 * event. NULL: not of interest. */
	void (*began)(void *data);
	void *data;
	bool begins; /* began() is to be called */
	bool absent; /* no server accepts connections at the address */
	bool streams; /* the transfer is a stream: part() gets the bytes received */
	bool excess; /* the answer has more than `most` bytes: the transfer ended there */
	bool timed_out; /* the server sent nothing for too long */
	unsigned int retry_after; /* s: the server's Retry-After; 0: none */
	struct api_transfer *next;
};

struct api_transfer_options {
	const char *method, *path;
	const char *body; /* JSON text, or NULL */
	const char *accept; /* media type of the answer; NULL: JSON */
	size_t most; /* bytes of the answer that are taken; 0: a quarter of a GiB */
	unsigned int seconds; /* time limit; 0: none */
	bool anew; /* use a new connection, since an old one may hang */
	int (*part)(void *data, const char *bytes, size_t n);
	void (*ended)(void *data, struct api_transfer *transfer, long status);
	void (*began)(void *data);
	void *data;
};

/* Starts a transfer. NULL: memory is short. */
struct api_transfer *api_transfer_begin(struct api *api,
					const struct api_transfer_options *options);
/* Ends a transfer without calling ended(). */
void api_transfer_end(struct api_transfer *transfer);

/* Returns the cause of a failure: the server's message, or why there is no answer. */
const char *api_transfer_error(const struct api_transfer *transfer, long status,
			       struct json_object *body);

/* Makes an object of the one row of a Table: "metadata.name", "metadata.resourceVersion", and
 * "cells" by the names of their columns. @columns: the definitions of the columns from the stream's
 * first event, kept for later events; the caller frees them. Returns 0 and an object to free;
 * -ENOENT: a column of @names is missing; or -EPROTO. */
int api_table_row(struct json_object *table, const char *const *names, struct json_object **columns,
		  struct json_object **row);

/* The server has answered: lets the watches that wait since it gave no answer try again. */
void api_answered(struct api *api);
/* Restarts all watches on a new connection: the server accepted a connection and then sent nothing
 * at all, so watches on that connection would wait for long. */
void api_watches_restart(struct api *api);

#endif
