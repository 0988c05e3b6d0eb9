/* SPDX-License-Identifier: GPL-2.0-only */
/* What an endpoint was added with, as bh_added keeps it (maps/added.h). */
#ifndef BULKHEAD_NODE_RECORD_H
#define BULKHEAD_NODE_RECORD_H

#include "maps/added.h"
#include "model/cluster.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* A record that says who an endpoint is, and nothing else. */
struct bh_added record_name(const char *ns, const char *name);
bool record_is_of(const struct bh_added *record, const struct bh_added *name);

/* Returns 0, or -E2BIG: the labels, ports and addresses take more than a record has. */
int record_write(const struct endpoint *endpoint, struct bh_added *record);

/* The same, -EINVAL and reported. */
int record_make(const struct node_handle *host, const struct endpoint *endpoint,
		struct bh_added *record);

/* The endpoint of a record, in memory of @cluster's; good until the cluster's next endpoint.
 * Returns 0, or -EILSEQ: the record is damaged. */
int record_read(const struct bh_added *record, struct cluster *cluster, struct endpoint **endpoint);

/*
 * Adds to @cluster the endpoints that bh_added has, each once, but for those whose name or any of
 * whose addresses @policy has (NULL: all). Returns 0 or -errno, reported.
 */
int record_read_all(struct node_handle *host, const struct policy *policy, struct cluster *cluster);

#endif
