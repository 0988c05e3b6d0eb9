/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes endpoint records for the CNI plugin. A record says who a pod is that is about to start on
 * this node: one file for each pod, NAMESPACE_NAME.json, with what is read of the Pod but its node
 * and status. A rename replaces the file in one step.
 */
#ifndef BULKHEAD_CLUSTER_RECORDS_H
#define BULKHEAD_CLUSTER_RECORDS_H

#include <json-c/json.h>

#include "model/diag.h"

/* Writes the record of a Pod of this node, which objects_pod_read() made. Returns 0 or -errno,
 * reported. */
int records_put(const char *folder, struct json_object *pod, struct diag *diag);
void records_remove(const char *folder, const char *ns, const char *name);

#endif
