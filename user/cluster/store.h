/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bulkhead's custom resources (bulkhead.dev/v1alpha1, all cluster-scoped,
 * tools/deploy/base/crds.yaml):
 *
 *   PolicyStatus, "global":
 *     spec.desiredPolicyGeneration: the policy that every node installs
 *     spec.desiredEndpointGeneration: the policy whose segments endpoints may be in
 *     spec.checksum: that of the first
 *     status: the oldest that live nodes have
 *   NodePolicyStatus, named like its node:
 *     status.latestPolicyGeneration: the policy that the node has installed
 *     status.latestEndpointGeneration: the policy that its endpoints are in
 *     status.heartbeat: changes every 10 s
 *     status.message: "ok", or the error
 *   PolicyGeneration, a compiled policy, never changed; "g7" is generation 7:
 *     spec.checksum, spec.parts, spec.size
 *     Its parts are "g7-CHECKSUM-0" and so on, with spec.data in base64, and are written before
 *     it. Together they are the blob (compile/blob.h), compressed by zstd.
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

/* Bytes of a part before base64, which keeps the object below 1 MB. */
#define STORE_PART 700000

/* PolicyStatus as last seen. */
struct store_status {
	char *version; /* resourceVersion; NULL: there is no PolicyStatus */
	uint32_t policy, endpoint; /* desired generations; 0: none yet */
	uint64_t checksum; /* checksum of `policy` */
};
int store_status_read(struct json_object *object, struct store_status *status); /* returns 0 or
										 * -ENOMEM */
void store_status_free(struct store_status *status);
/* Returns the object with the version that was read. The server refuses it if another version is
 * stored by now. NULL: no memory. */
struct json_object *store_status_object(const struct store_status *status);

/* Each function starts an operation and returns; done() is called later, when the operation has
 * ended. Only one of each kind runs at a time. @error: 0; -EEXIST (the generation exists with
 * other content), -ENOENT (it does not exist), -EBADMSG (it is damaged) or another -errno; @why
 * is a message. */
struct store_publish;
typedef void store_published(void *data, int error, const char *why);
struct store_publish *store_publish(struct api *api, struct policy *policy, store_published *done,
				    void *data); /* NULL: no memory */

struct store_fetch;
/* @policy: the callback frees it; NULL: see @error. */
typedef void store_fetched(void *data, int error, const char *why, struct policy *policy);
struct store_fetch *store_fetch(struct api *api, uint32_t generation, store_fetched *done,
				void *data); /* NULL: no memory */

/* Returns the generation in a PolicyGeneration's name; 0: the name is no such. */
uint32_t store_generation_of(const char *name);

#endif
