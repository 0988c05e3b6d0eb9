/* SPDX-License-Identifier: GPL-2.0-only */
/* Dry runs: reports a change instead of making it. */
#ifndef BULKHEAD_NODE_REHEARSE_H
#define BULKHEAD_NODE_REHEARSE_H

#include "node/change/change.h"

/* Reports each step to the options' `rehearse`. Later plans see the node as if the steps had
 * been taken (handle->seen). Returns 0 or -errno, reported. */
int rehearse(struct node_handle *handle, const struct change *change);

#endif
