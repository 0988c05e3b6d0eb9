/* SPDX-License-Identifier: GPL-2.0-only */
/* A change that is told of, and not made. */
#ifndef BULKHEAD_NODE_REHEARSE_H
#define BULKHEAD_NODE_REHEARSE_H

#include "node/change/change.h"

/* Tells the options' `rehearse` each step, and has whatever is planned next be planned as if they
 * had been taken (host->seen). Returns 0 or -errno, reported. */
int rehearse(struct node_handle *host, const struct change *change);

#endif
