/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy of which only the records that were asked for are read: of a large policy
 * active, a change needs little. Its members are those of struct policy, but a record, and each
 * string, must be read by lazy_read() and lazy_read_string() before it is looked at. The functions
 * below do so.
 */
#ifndef BULKHEAD_POLICY_LAZY_POLICY_H
#define BULKHEAD_POLICY_LAZY_POLICY_H

#include "policy/policy.h"

static inline void lazy_policy_free(struct lazy_policy *policy)
{
	policy_free(policy_of_lazy(policy));
}

/* Returns the policy as it was compiled, without this node's extension. */
static inline const struct lazy_policy *lazy_plain(const struct lazy_policy *policy)
{
	return policy && policy->plain ? policy->plain : policy;
}

/* Returns these records, read if needed. */
static inline const void *lazy_read(const struct lazy_policy *policy, const void *at, size_t size)
{
	if (policy->source)
		policy->source->need(policy->source, at, size);
	return at;
}

/* Return n records of a table from the one at @at on, one record, and all, read if needed. */
#define LAZY_SOME(policy, table, at, n)                                                  \
	((const __typeof__(*(policy)->table) *)lazy_read(policy, (policy)->table + (at), \
							 (n) * sizeof(*(policy)->table)))
#define LAZY_ONE(policy, table, at) LAZY_SOME(policy, table, at, 1)
#define LAZY_ALL(policy, table) LAZY_SOME(policy, table, 0, (policy)->n_##table)

const char *lazy_read_string(const struct lazy_policy *policy, uint32_t string);

/* Returns -errno if a part that was asked for could not be read, reported; else 0. */
static inline int lazy_error(const struct lazy_policy *policy)
{
	return policy->source ? policy->source->error : 0;
}

/* As the functions of policy.h. */
const char *lazy_matcher_namespace(const struct lazy_policy *policy,
				   const struct policy_matcher *matcher);
struct policy_lists lazy_lists_of(const struct lazy_policy *policy,
				  const struct policy_segment *segment);
const struct policy_namespace *lazy_namespace_by_name(const struct lazy_policy *policy,
						      const char *name);
const struct policy_node *lazy_node_by_name(const struct lazy_policy *policy, const char *name);
const struct policy_endpoint *lazy_endpoint_by_name(const struct lazy_policy *policy,
						    const char *ns, const char *name);
const struct policy_address *lazy_address_find(const struct lazy_policy *policy,
					       const struct address *address);
const struct policy_segment *lazy_segment_by_id(const struct lazy_policy *policy, uint32_t id);
/* NULL: no pod of that name is expected. */
const struct policy_expected *lazy_expected_by_name(const struct lazy_policy *policy,
						    const char *ns, const char *name);

/* Returns an endpoint's address. @i: its number among the endpoint's. */
static inline const struct policy_address *lazy_address_of(const struct lazy_policy *policy,
							   const struct policy_endpoint *endpoint,
							   uint32_t i)
{
	const uint32_t *index = LAZY_ONE(policy, endpoint_addresses, endpoint->addresses.at + i);

	return LAZY_ONE(policy, addresses, *index);
}

/*
 * Sets @outside to a policy that has the tables about addresses of no endpoint alone: prefixes,
 * nodes, frontends and service-cidrs, which it reads as a whole. Its segments may be pointed at,
 * not looked at. It owns nothing.
 */
void lazy_read_outside(const struct lazy_policy *policy, struct policy *outside);

#endif
