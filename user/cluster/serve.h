/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small HTTP server in the loop of api/. GET /metrics returns text for Prometheus; GET /healthz
 * returns "ok" as long as the loop runs. It has neither TLS nor users: bind it where only
 * processes that may read the metrics can reach it.
 */
#ifndef BULKHEAD_CLUSTER_SERVE_H
#define BULKHEAD_CLUSTER_SERVE_H

#include <stdio.h>

#include "api/api.h"

struct serve;

/* @address: "127.0.0.1:9464", "[::1]:9464" or ":9464" (every address). @write writes the
 * metrics. Returns 0; -EINVAL or another -errno, reported, where @address is malformed or in
 * use; or -ENOMEM. */
int serve_open(struct api *api, const char *address, void (*write)(void *data, FILE *to),
	       void *data, struct diag *diag, struct serve **serve);
void serve_close(struct serve *serve); /* before api_close(); NULL is fine */

#endif
