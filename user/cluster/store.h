/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bulkhead's custom resources (bulkhead.dev/v1alpha1, all cluster-scoped,
 * tools/deploy/base/crds.yaml):
 *
 *   PolicyStatus, "global":
 *     spec.desiredPolicyGeneration: the policy that every node installs
 *     spec.desiredEndpointGeneration: the policy whose segments endpoints may be in
 *     spec.checksum: of the policy with desiredPolicyGeneration
 *     spec.delta: a small delta to that policy, in base64, until endpoints may be in the policy:
 *     nodes that have the delta's parent need no PolicyGeneration
 *     spec.nodeLimitSeconds: the engine's limit for silent nodes
 *     status: the oldest generations that live nodes have, and conditions (condition.h)
 *   NodePolicyStatus, named like its node:
 *     status.latestPolicyGeneration: the policy that the node has installed
 *     status.latestEndpointGeneration: the policy that the node's endpoints are in
 *     status.heartbeat: changes within six tenths of the engine's limit for silent nodes
 *     status.message: "ok", or the error
 *     status.conditions: "Ready", False with that error
 *     status.lacksGeneration: a wanted policy that the node cannot make from the store; else 0
 *     status.leftAddresses: addresses that a Pod of the node lost when its sandbox ended, while the
 *     Pod's object still names them: [{"address", "namespace", "name", "uid"}], STORE_LEFT_MAX at
 *     most. The engine gives no such address to that Pod
 *   PolicyGeneration, never changed; "g7" leads to generation 7:
 *     spec.checksum: of generation 7
 *     spec.parent: checksum of generation 6, from which "g7" is a delta (policy/delta.h); absent
 *     where no delta leads to generation 7
 *     spec.whole: the newest whole policy from which deltas lead to generation 7: "w4-CHECKSUM" is
 *     generation 4, a blob (policy/blob_file.h) compressed by zstd
 *     spec.data: the bytes in base64. More than STORE_PART bytes are in parts, "g7-CHECKSUM-0"
 *     and so on, as spec.parts says. Parts are written before the object that refers to them
 */
#ifndef BULKHEAD_CLUSTER_STORE_H
#define BULKHEAD_CLUSTER_STORE_H

#include "api/api.h"
#include "policy/policy.h"

struct delta;

/* Addresses in status.leftAddresses: the resource takes no more, and the engine reads no more. */
#define STORE_LEFT_MAX 1024

#define STORE_GROUP "bulkhead.dev/v1alpha1"
#define STORE_PATH "/apis/" STORE_GROUP
#define STORE_POLICY_STATUS STORE_PATH "/policystatuses"
/* The version of PolicyStatus whose printer columns are for nodes, not for people. */
#define STORE_POLICY_STATUS_COLUMNS "/apis/bulkhead.dev/followers/policystatuses"
#define STORE_NODE_STATUS STORE_PATH "/nodepolicystatuses"
#define STORE_GENERATIONS STORE_PATH "/policygenerations"

/* Bytes of a part before base64, which keeps the object below 1 MB. */
#define STORE_PART 700000

/* Bytes of a whole policy before it is compressed: nodes take no larger one. */
#define STORE_BLOB_MAX (1u << 30)

/* PolicyStatus as last seen. */
struct store_status {
	char *version; /* resourceVersion; NULL: there is no PolicyStatus */
	int64_t observed; /* metadata.generation: counts changes of the spec */
	uint32_t policy, endpoint; /* desired generations; 0: none yet */
	uint64_t checksum; /* checksum of `policy` */
	char *delta; /* the delta to `policy` in base64; NULL: PolicyStatus has none */
	uint32_t nodes; /* nodes that a rollout waits for */
	uint32_t oldest; /* the oldest policy that endpoints of such a node are in; 0: unknown */
	uint32_t limit; /* seconds after which a silent node does not count; 0: not given */
};
/* The printer columns that nodes follow in place of the whole object. */
extern const char *const store_status_columns[];
/* returns 0 or -ENOMEM */
int store_status_read(struct json_object *object, struct store_status *status);
void store_status_free(struct store_status *status);
/* Returns the object with the version that was read. The server refuses the object if another
 * version is stored by now. NULL: no memory. */
struct json_object *store_status_object(const struct store_status *status);

/* A policy of a later generation was never made, at a change each second for 68 years: somebody
 * wrote that number by hand. */
#define STORE_GENERATION_MAX INT32_MAX

#define STORE_NAME 48 /* bytes of a PolicyGeneration's name, at most */

/* One PolicyGeneration. */
struct store_item {
	char name[STORE_NAME];
	uint32_t generation;
	uint64_t checksum;
	uint64_t parent; /* the checksum of a delta's parent; 0: this is a whole policy */
	void *bytes; /* the delta's file, or the compressed blob */
	size_t size;
	size_t blob; /* bytes of the blob */
};

/* The chain of a generation, in order: deltas, or a whole policy and the deltas since. */
struct store_chain {
	struct store_item *items;
	size_t n;
	const char *refused; /* name of the item that store_chain_policy() refused; else NULL */
};
void store_chain_free(struct store_chain *chain);

/* Makes the policy to which @chain leads. @base: the policy that the first item is a delta from;
 * not used if the first item is a whole policy. Returns 0 and a policy to free; -EBADMSG,
 * reported with the item's name, where an item is damaged or has another parent; or -ENOMEM. */
int store_chain_policy(struct store_chain *chain, const struct policy *base, struct diag *diag,
		       struct policy **policy);

/* Reads a chain of one delta. Returns 0 and a delta to free; -ENOENT: the chain is no single delta;
 * -EBADMSG, not reported: the delta is damaged; or -ENOMEM. */
int store_chain_delta(const struct store_chain *chain, struct delta **delta);

/* The newest whole policy in the store, and the deltas since. */
struct store_since {
	char whole[STORE_NAME]; /* "": none */
	size_t whole_size, size; /* bytes of the whole policy, and of the deltas together */
	uint32_t deltas;
};

/* Makes a chain of the delta in @status. @have: as for store_fetch(). Returns 0; -ENOENT: @status
 * has no delta that leads from one of these policies to @generation; or -ENOMEM. */
int store_status_chain(const struct store_status *status, uint32_t generation,
		       const uint64_t have[2], struct store_chain *chain);

/* Returns the whole policy that @chain begins with, and the deltas since. */
struct store_since store_since(const struct store_chain *chain);

/* Each function starts an operation and returns; done() is called later, when the operation has
 * ended. Only one of each kind runs at a time. @error: 0; -EEXIST (the generation exists with
 * other content), -ENOENT (it does not exist), -EBADMSG (it is damaged) or another -errno; @why
 * is a message. */
typedef void store_done(void *data, int error, const char *why);

/*
 * Writes @policy as a delta from @base (NULL: no delta). Also writes it whole if no whole policy
 * is stored, or if too many deltas, or more bytes of deltas than of the whole policy, would
 * follow the last one. Sets @since, which must live until done(), and *@delta: the delta for a
 * store_status, to free; NULL: there is no delta, or it is too large. Returns 0; -E2BIG: @policy
 * has more than STORE_BLOB_MAX bytes; or -ENOMEM.
 */
int store_publish(struct api *api, const struct policy *base, struct policy *policy,
		  struct store_since *since, char **delta, store_done *done, void *data);

/* Fetches the deltas that lead from a policy that the caller has to @generation. If no deltas do,
 * fetches the newest whole policy and the deltas since. @have: checksums of the policies that the
 * caller has; 0: none. @chain: the callback frees it. */
struct store_fetch;
typedef void store_fetched(void *data, int error, const char *why, struct store_chain *chain);
struct store_fetch *store_fetch(struct api *api, uint32_t generation, const uint64_t have[2],
				store_fetched *done, void *data); /* NULL: no memory */

/* Returns the generation in a PolicyGeneration's name; 0: the name is not a PolicyGeneration's. */
uint32_t store_generation_of(const char *name);

/* Writes the name of an item's part. */
void store_part_name(const struct store_item *item, unsigned int part, char *name, size_t size);

/* Returns one of Bulkhead's custom resources without a spec. @version: resourceVersion, or NULL. */
struct json_object *store_object(const char *kind, const char *name, const char *version);
void store_add_number(struct json_object *object, const char *key, int64_t value);
void store_add_checksum(struct json_object *object, const char *key, uint64_t checksum);

#endif
