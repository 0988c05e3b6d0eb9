/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changed policies of which an Event is to say that they are active now. A policy that changes
 * waits for a compile, then for the end of the rollout, then for its turn: a namespace has
 * ACTIVE_TENANT_BURST Events at once and one a second, all have ACTIVE_BURST at once and ten a
 * second, and the namespace that was told of least comes first. So whoever changes a policy without
 * end takes nobody else's Event. Of a namespace so many wait, and further ones have none.
 */
#ifndef BULKHEAD_CLUSTER_ACTIVE_POLICIES_H
#define BULKHEAD_CLUSTER_ACTIVE_POLICIES_H

#include <json-c/linkhash.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/objects.h"

#define ACTIVE_TENANT_BURST 50
#define ACTIVE_BURST 100
#define ACTIVE_STEP_MS 100

struct active_policies {
	struct lh_table *tenants; /* by namespace; NULL: no memory was left */
	uint64_t paid; /* of all, for allowance_take() */
};

void active_policies_open(struct active_policies *policies);
void active_policies_close(struct active_policies *policies);

/* @about: objects_about() a policy that has changed. */
void active_policies_changed(struct active_policies *policies, struct json_object *about);
/* A compile has ended: what has changed until now waits for the end of a rollout, but for what the
 * compile has set aside. */
void active_policies_compiled(struct active_policies *policies, const struct objects *objects);
/* A rollout of @generation to @nodes has ended: what waited for it waits for its turn. */
void active_policies_active(struct active_policies *policies, uint32_t generation, uint32_t nodes);

/* Returns a policy whose turn has come at @now (ms), a new reference; NULL: none. @message: what
 * its Event says. */
struct json_object *active_policies_next(struct active_policies *policies, uint64_t now,
					 char message[80]);
/* Returns true if a policy waits for its turn. */
bool active_policies_wait(const struct active_policies *policies);

#endif
