/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds: the ends of flows, grouped so that none of the given policies tells two members of a kind
 * apart. A member is an endpoint or a prefix. With one policy, a kind is a segment, divided where
 * its endpoints give port names different numbers.
 */
#ifndef BULKHEAD_CMD_KINDS_H
#define BULKHEAD_CMD_KINDS_H

#include "compile/policy.h"

#define KINDS_POLICIES 2 /* at most */
#define KIND_ABSENT UINT32_MAX

/* Where one policy has a member. */
struct kind_place {
	uint32_t segment; /* index in policy->segments; KIND_ABSENT: the policy has no such end */
	uint32_t resolution; /* ID of the numbers that the member gives port names; 0: none */
};

struct kind_member {
	struct kind_place place[KINDS_POLICIES]; /* KIND_ABSENT beyond the given policies */
	bool external; /* a prefix */
	char *name; /* "namespace/pod", " over IPv4" or " over IPv6" added where the two differ; or
		     * "10.0.0.0/8", "world" */
};

struct kind {
	const struct kind_member *members;
	size_t n; /* from 1 */
};

struct kinds {
	struct kind *at; /* endpoints first, then prefixes */
	size_t n;
	struct kind_member *members; /* of all kinds, one kind after another */
	size_t n_members;
};

/* @n: 1 or 2 policies. Returns 0, and the kinds are to be freed; or -ENOMEM. */
int kinds_list(const struct policy *const policies[], size_t n, struct kinds *kinds);
void kinds_free(struct kinds *kinds);

#endif
