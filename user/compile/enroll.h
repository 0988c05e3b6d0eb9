/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy with other endpoints than it was compiled with: those that
 * came and went since, by `endpoint`. Its segments, pairs and rules stay as they
 * are, and so does what a blob of it holds.
 */
#ifndef BULKHEAD_COMPILE_ENROLL_H
#define BULKHEAD_COMPILE_ENROLL_H

#include "compile/policy.h"

/* Where an address of an endpoint is that came. */
struct enrolled_address {
	struct address address;
	uint32_t segment; /* index, or POLICY_NOWHERE: it is isolated */
	uint32_t variation; /* ID, 0: none */
};

/* An endpoint that came. It may have the name of one of the policy's: then its addresses are added
 * to those, and the rest of it counts. */
struct enrolled {
	const char *ns, *name;
	const char *node, *interface; /* NULL: not said */
	uint32_t flags; /* POLICY_* */
	uint8_t mac[6];
	const struct enrolled_address *addresses;
	size_t n_addresses;
	const struct cidr *allow_source;
	size_t n_allow_source;
};

/*
 * Takes the addresses off that @gone (by the policy's addresses; NULL: none) says are not in force,
 * with each endpoint that has none left, and adds @came. No address stands twice. All of the policy
 * must be there (no source). Its new tables are freed by policy_free(), or of a struct copy by
 * enroll_free().
 */
void enroll(struct policy *policy, const bool *gone, const struct enrolled *came, size_t n);
void enroll_free(struct policy *policy);

/* The policy as it was compiled. */
const struct policy *enroll_compiled(const struct policy *policy);

#endif
