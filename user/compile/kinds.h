/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds: the ends of flows, grouped so that none of the given policies tells two members of a kind
 * apart. A member is an endpoint, a node, or the addresses of a prefix that nobody else has. With
 * one policy, a kind is a segment, divided where its endpoints give port names different numbers.
 *
 * Only an endpoint's own node is told from other nodes by no kind: see kinds_own_node().
 */
#ifndef BULKHEAD_COMPILE_KINDS_H
#define BULKHEAD_COMPILE_KINDS_H

#include "compile/ends.h"

#define KINDS_POLICIES 2 /* at most */
#define KIND_NOWHERE POLICY_NOWHERE /* an endpoint in no segment: it is isolated */
#define KIND_ABSENT (UINT32_MAX - 1)

/* Where one policy has a member. */
struct kind_place {
	uint32_t segment; /* index in policy->segments, or KIND_NOWHERE; KIND_ABSENT: the policy has
			   * no such end */
	uint32_t resolution; /* ID of the numbers that the member gives port names; 0: none */
};

struct kind_member {
	struct kind_place place[KINDS_POLICIES]; /* KIND_ABSENT beyond the given policies */
	bool external; /* a node or a prefix */
	bool is_node;
	struct end end; /* its addresses, as the last policy that has it says; `name` is
			 * "namespace/pod" or "node NAME", " over IPv4" or " over IPv6" added where
			 * the two differ; or "10.0.0.0/8", "world" */
	/* An endpoint's node, or the node itself; "": it is not said. */
	const char *node[KINDS_POLICIES];
};

struct kind {
	const struct kind_member *members;
	size_t n; /* from 1 */
	bool has[FAMILIES]; /* some member has such an address */
};

struct kinds {
	size_t policies; /* how many they were listed by */
	struct kind *at; /* endpoints first, then nodes, then prefixes */
	size_t n;
	struct kind_member *members; /* of all kinds, one kind after another */
	size_t n_members;
};

/* @n: 1 or 2 policies, which must outlive the kinds. Returns 0, and the kinds are to be freed; or
 * -ENOMEM. */
int kinds_list(const struct policy *const policies[], size_t n, struct kinds *kinds);
/* The same of one policy, but each end is a kind by itself, whichever families it has. */
int kinds_list_each(const struct policy *policy, struct kinds *kinds);
void kinds_free(struct kinds *kinds);

/* Whether a flow may go from a member of the one to another member of the other: some address
 * family is common, and one of them is an endpoint. */
bool kinds_meet(const struct kind *from, const struct kind *to);

/*
 * Whether some endpoint of the one kind is on a node of the other, and whether some is not, as
 * @policy (an index) says. Its own node reaches an endpoint whatever policy says, and an endpoint
 * its own node, unless an Admin or Baseline rule denies that.
 */
struct kinds_own {
	bool own, foreign;
};
struct kinds_own kinds_own_node(const struct kind *a, const struct kind *b, size_t policy);

/* "shop/web-1", "shop/web-1 and 11 more". Returns @text, cut to @size. */
char *kind_print(const struct kind *kind, char *text, size_t size);

#endif
