/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Endpoint records for the CNI plugin: who a pod is that is about to start here. An INI file a pod,
 * NAMESPACE_NAME.ini, with its labels and ports; written by rename.
 */
#ifndef BULKHEAD_CLUSTER_RECORDS_H
#define BULKHEAD_CLUSTER_RECORDS_H

#include <json-c/json.h>

#include "model/diag.h"

/* A Pod of this node. 0 or -errno, reported. */
int records_put(const char *folder, struct json_object *pod, struct diag *diag);
void records_remove(const char *folder, const char *ns, const char *name);

#endif
