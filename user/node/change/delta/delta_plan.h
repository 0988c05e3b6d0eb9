/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The load of a delta while it is planned: the state that the planners of its parts share. Each
 * reads what the delta names, and neither the maps nor the policy as a whole. Each returns 0;
 * -EOPNOTSUPP, not reported, where a load of the whole policy must do what the delta asks; or
 * another -errno.
 */
#ifndef BULKHEAD_NODE_DELTA_PLAN_H
#define BULKHEAD_NODE_DELTA_PLAN_H

#include "compile/delta.h"
#include "compile/lazy_policy.h"
#include "maps/added.h"
#include "node/change/layout.h"

struct delta_plan {
	struct node_handle *handle;
	const struct delta *delta;
	/* Without the node's extension, read as far as needed. */
	const struct lazy_policy *old, *new;
	bool kept; /* all segments, and the matchers that place endpoints in them, stay as they
		    * are */
	struct delta *local; /* the node's extension of @new; owned; NULL: none */
	uint32_t *slots; /* by index of the segments of @new, then of those that this node adds;
			  * owned */
	uint32_t n_slots;
	uint32_t ports_end; /* of bh_blob */
	struct table added; /* bh_added */
	struct table taken; /* of these, the records of endpoints that the policy takes over */
	struct table concerned; /* addresses that come, move or go */
	bool own; /* the delta concerns endpoints of this node */
	struct policy outside; /* of @new (lazy_read_outside()) */
	struct change *change;
};

/* Returns a policy's ID as the maps have it; 0 stays 0. */
static inline uint32_t delta_id(const struct delta_plan *plan, uint32_t id)
{
	return layout_id(plan->handle->blob.ids, id);
}

static inline const struct policy_endpoint *delta_endpoint(const struct lazy_policy *policy,
							   uint32_t index)
{
	return lazy_read(policy, &policy->endpoints[index], sizeof(struct policy_endpoint));
}

static inline const struct policy_address *delta_address(const struct lazy_policy *policy,
							 uint32_t index)
{
	return lazy_read(policy, &policy->addresses[index], sizeof(struct policy_address));
}

static inline const struct policy_segment *delta_segment(const struct lazy_policy *policy,
							 uint32_t index)
{
	return lazy_read(policy, &policy->segments[index], sizeof(struct policy_segment));
}

/* Returns an endpoint's address. @i: its number among the endpoint's. */
static inline const struct policy_address *delta_address_of(const struct lazy_policy *policy,
							    const struct policy_endpoint *endpoint,
							    uint32_t i)
{
	return delta_address(
		policy, *(const uint32_t *)lazy_read(
				policy, &policy->endpoint_addresses[endpoint->addresses.at + i],
				sizeof(uint32_t)));
}

#endif
