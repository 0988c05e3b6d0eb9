/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bulkhead's custom resources (bulkhead.dev/v1alpha1, all cluster-scoped, tools/deploy/base/crds.yaml):
 *
 *   PolicyStatus      "global". spec.desiredPolicyGeneration: what every node is to install;
 *                     spec.desiredEndpointGeneration: what endpoints may be in;
 *                     spec.checksum: of the first. status: what the nodes that count have.
 *   NodePolicyStatus  of a node, by its name. status.latestPolicyGeneration and
 *                     latestEndpointGeneration: what it has installed, and what its endpoints are
 * in; status.heartbeat: another value every 10 s; status.message: "ok", or what is wrong.
 *   PolicyGeneration  a compiled policy, never changed. "g7" is generation 7: spec.checksum,
 *                     spec.parts, spec.size; the parts are "g7-CHECKSUM-0" and so on, spec.data in
 *                     base64, and were written before. All together are the blob (compile/blob.h),
 *                     compressed by zstd.
 */
#ifndef BULKHEAD_CLUSTER_STORE_H
#define BULKHEAD_CLUSTER_STORE_H

#include "api/api.h"
#include "compile/policy.h"

#define STORE_GROUP "bulkhead.dev/v1alpha1"
#define STORE_PATH "/apis/" STORE_GROUP
#define STORE_POLICY_STATUS STORE_PATH "/policystatuses"
#define STORE_NODE_STATUS STORE_PATH "/nodepolicystatuses"
#define STORE_GENERATIONS STORE_PATH "/policygenerations"

/* Bytes of a part before base64: the object stays below 1 MB. */
#define STORE_PART 700000

/* PolicyStatus, as last seen. */
struct store_status {
	char *version; /* its resourceVersion; NULL: there is none */
	uint32_t policy, endpoint; /* desired; 0: none yet */
	uint64_t checksum; /* of `policy` */
};
int store_status_read(struct json_object *object, struct store_status *status); /* 0 or -ENOMEM */
void store_status_free(struct store_status *status);
/* With the version that was read: the server refuses it where that is no longer so. NULL: no
 * memory. */
struct json_object *store_status_object(const struct store_status *status);

/* One at a time each: starts, and calls done() when it has ended, never before it returns.
 * @error: 0; -EEXIST (that generation is there already, with other content), -ENOENT (it is not
 * there), -EBADMSG (it is damaged) or another -errno; @why for messages. */
struct store_publish;
typedef void store_published(void *data, int error, const char *why);
struct store_publish *store_publish(struct api *api, struct policy *policy, store_published *done,
				    void *data); /* NULL: no memory */

struct store_fetch;
/* @policy: the receiver's to free; NULL: see @error. */
typedef void store_fetched(void *data, int error, const char *why, struct policy *policy);
struct store_fetch *store_fetch(struct api *api, uint32_t generation, store_fetched *done,
				void *data); /* NULL: no memory */

/* The generation that a PolicyGeneration's name is of; 0: none. */
uint32_t store_generation_of(const char *name);

#endif
