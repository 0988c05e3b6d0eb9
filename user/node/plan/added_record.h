/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of added endpoints, as bh_added keeps them (maps/added.h). */
#ifndef BULKHEAD_NODE_ADDED_RECORD_H
#define BULKHEAD_NODE_ADDED_RECORD_H

#include "maps/added.h"
#include "model/cluster.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct lazy_policy;
struct policy_endpoint;

/* Returns a record with nothing but a name. */
struct bh_added record_name(const char *ns, const char *name);
/* As record_name(), with the name of an endpoint of a policy. */
struct bh_added record_name_of(const struct lazy_policy *policy,
			       const struct policy_endpoint *endpoint);
bool record_is_of(const struct bh_added *record, const struct bh_added *name);

/* Returns 0, or -E2BIG if labels, ports and addresses do not fit. */
int record_write(const struct endpoint *endpoint, struct bh_added *record);

/* As record_write(), with -EINVAL, reported. */
int record_make(const struct node_handle *handle, const struct endpoint *endpoint,
		struct bh_added *record);

/* Reads the endpoint of a record into memory of @cluster's. It is valid until the cluster's next
 * endpoint. Returns 0, or -EILSEQ if the record is damaged. */
int record_read(const struct bh_added *record, struct cluster *cluster, struct endpoint **endpoint);

/* Hashes the record's UID by policy_uid_hash(): 0 if it has none. */
void record_uid(const struct bh_added *record, uint32_t uid[2]);

/* Returns true if a load of all of @policy takes an added endpoint over: @policy has its name or
 * one of its addresses. For a pod that a container runtime added, the name does not count: the
 * policy's pod of that name may be another pod. Nor does an address that the policy gives to
 * another pod: the interface on this node is right. */
bool record_is_known(const struct lazy_policy *policy, const struct endpoint *endpoint);

/* Returns true if an added endpoint is audited: by its record, or by @policy's namespace. */
bool record_is_audited(const struct lazy_policy *policy, const struct endpoint *endpoint);

/*
 * Adds the endpoints of bh_added to @cluster, each once. Leaves out an endpoint that
 * record_is_known() to @policy (NULL: none is left out). Returns 0 or -errno, reported.
 */
int record_read_all(struct node_handle *handle, const struct policy *policy,
		    struct cluster *cluster);

#endif
