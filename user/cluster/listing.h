/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists objects of an API server once, for commands that answer a question and end. */
#ifndef BULKHEAD_CLUSTER_LISTING_H
#define BULKHEAD_CLUSTER_LISTING_H

#include <stdio.h>

#include "api/api.h"

/* Gets the documents at @paths (n of them, at most LISTING_MAX) into @documents, each to be put by
 * json_object_put(); NULL: the server has none (404). @kubeconfig as in api_open(). Returns 0, or
 * -errno, reported: -EACCES if the server refuses the user. */
#define LISTING_MAX 16
int listing_get(const char *kubeconfig, const char *const *paths, size_t n, struct diag *diag,
		struct json_object **documents);

/* Writes each object that a policy depends on to @to, as one List in JSON. Returns as listing_get()
 * does. */
int listing_write(const char *kubeconfig, struct diag *diag, FILE *to);

#endif
