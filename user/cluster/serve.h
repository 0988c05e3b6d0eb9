/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small HTTP servers in the loop of api/, with neither TLS nor users:
 *
 *   metrics, at an address: GET /metrics returns text for Prometheus, GET /healthz returns "ok".
 * Bind it where only processes that may read the metrics can reach it. A client's address has
 *   SERVE_PER_ADDRESS connections at most, and all addresses SERVE_CONNECTIONS, each for
 *   SERVE_SECONDS, so one client cannot keep others away.
 *   health, at a Unix socket of the process's own, which no network reaches: GET /livez returns
 * "ok" as long as the loop runs, GET /readyz returns 200, or 503 with what is missing. `bulkhead
 * probe` asks.
 */
#ifndef BULKHEAD_CLUSTER_SERVE_H
#define BULKHEAD_CLUSTER_SERVE_H

#include <stdio.h>

#include "api/api.h"

#define SERVE_CONNECTIONS 64
#define SERVE_PER_ADDRESS 4
#define SERVE_SECONDS 10

struct serve_options {
	/* "127.0.0.1:9464", "[::1]:9464" or ":9464" (every address); NULL: serve no metrics */
	const char *listen;
	const char *health; /* path of the Unix socket; NULL: serve no health */
	void (*metrics)(void *data, FILE *to); /* writes the metrics */
	/* Returns NULL if the process is ready, else what is missing. */
	const char *(*missing)(void *data);
	void *data;
};

struct serve;

/* The strings of @options must outlive the server. An address that another process uses is tried
 * again every few seconds: two engines may run on one node. Returns 0; -EINVAL or another -errno,
 * reported, if an address is malformed or a socket cannot be made; or -ENOMEM. */
int serve_open(struct api *api, const struct serve_options *options, struct diag *diag,
	       struct serve **serve);
void serve_close(struct serve *serve); /* before api_close(); NULL is fine */

#endif
