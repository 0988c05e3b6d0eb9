/* SPDX-License-Identifier: GPL-2.0-only */
/* Dry runs: reports a change instead of making it. */
#ifndef BULKHEAD_NODE_DRY_RUN_H
#define BULKHEAD_NODE_DRY_RUN_H

#include "node/plan/change.h"

#define DRY_RUN_NAME 1024

/* Names an entry of a map by its key. */
void dry_run_name(char to[DRY_RUN_NAME], enum node_map_id map, const void *key);

/* Reports each step to the options' `dry_run`. Later plans see the node as if the steps had been
 * taken (handle->seen). Returns 0 or -errno, reported. */
int dry_run(struct node_handle *handle, const struct change *change);

#endif
