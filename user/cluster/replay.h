/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watch events from a file, in place of an API server: JSON objects one behind another, as
 * `kubectl get KINDS -A --watch --output-watch-events -o json` prints them,
 * {"type": "ADDED", "object": {...}}. Types are ADDED, MODIFIED, DELETED and BOOKMARK.
 */
#ifndef BULKHEAD_CLUSTER_REPLAY_H
#define BULKHEAD_CLUSTER_REPLAY_H

#include <stdio.h>

#include "policy/policy.h"
#include "model/diag.h"

/*
 * Takes the events of @from (@name in messages) to their end and compiles the objects that are
 * there then, as the engine does: an object that is refused is reported, and does not stop the
 * rest. @base: as for compile_cluster(). Returns 0; -EINVAL, reported, if @from is no stream of
 * events or has no event about an object that is read; -EIO; or -ENOMEM.
 */
int replay_compile(FILE *from, const char *name, const struct policy *base, struct diag *diag,
		   struct policy **policy);

#endif
