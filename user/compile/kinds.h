/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds: the ends of flows, grouped so that none of the given policies tells two members of a kind
 * apart. A member is an endpoint, a node, the addresses of a prefix that no endpoint, node or
 * longer prefix has, or a domain name of a rule: those of the widest prefix that an endpoint has
 * learned by the name. With one policy, a kind is a segment, divided where its endpoints number
 * port names differently.
 *
 * Kinds do not tell an endpoint's own node from other nodes: see kinds_own_node().
 */
#ifndef BULKHEAD_COMPILE_KINDS_H
#define BULKHEAD_COMPILE_KINDS_H

#include "compile/ends.h"

#define KINDS_POLICIES 2 /* the most policies */
#define KIND_NOWHERE POLICY_NOWHERE /* an endpoint in no segment, which is isolated */
#define KIND_ABSENT (UINT32_MAX - 1)

/* The place of a member in one policy. */
struct kind_place {
	uint32_t segment; /* index in policy->segments, or KIND_NOWHERE; KIND_ABSENT: the policy has
			   * no such end */
	uint32_t resolution; /* ID of the numbers that the member gives port names; 0: none */
	uint32_t names; /* equal for domain names that the policy does not tell apart; 0: the
			 * member is no name of the policy */
};

struct kind_member {
	struct kind_place place[KINDS_POLICIES]; /* KIND_ABSENT for policies that are not given */
	bool external; /* a node, a prefix or a domain name */
	bool is_node;
	struct end end; /* its addresses in the last policy that has it; `name` is
			 * "namespace/pod", "node NAME", "10.0.0.0/8", "name:*.example.com" or
			 * "world", with " over IPv4" or " over IPv6" behind it where the two
			 * differ */
	/* The endpoint's node, or the node itself, by policy; "": unknown. */
	const char *node[KINDS_POLICIES];
};

struct kind {
	const struct kind_member *members;
	size_t n; /* number of members, at least 1 */
	bool has[FAMILIES]; /* a member has an address of the IP version */
};

struct kinds {
	size_t policies; /* number of policies that the kinds are of */
	struct kind *at; /* endpoints first, then nodes, then prefixes and names */
	size_t n;
	struct kind_member *members; /* of all kinds, kind by kind */
	size_t n_members;
};

/* Lists the kinds of @n policies, 1 or 2, which must outlive them. Returns 0, and the kinds are
 * to be freed; or -ENOMEM. */
int kinds_list(const struct policy *const policies[], size_t n, struct kinds *kinds);
/* As kinds_list() for one policy, but each end is a kind of its own, with both IP versions. */
int kinds_list_each(const struct policy *policy, struct kinds *kinds);
void kinds_free(struct kinds *kinds);

/* Returns the segment that the kind has to endpoints of @subject, by a domain name, too: the index
 * @nth is that of @policy. The kind is in a segment. */
const struct policy_segment *kind_peer(const struct policy *policy, size_t nth,
				       const struct kind *kind,
				       const struct policy_segment *subject);

/* Whether a flow may go from a member of one kind to another member of the other: they have an
 * IP version in common, and one of them is an endpoint. A domain name is no source of flows. */
bool kinds_meet(const struct kind *from, const struct kind *to);

/*
 * Whether some endpoint of one kind is on a node of the other, and whether some is not, in the
 * policy of index @policy. A node always reaches its own endpoints; an endpoint reaches its own
 * node unless an Admin or Baseline rule denies it.
 */
struct kinds_own {
	bool own, foreign;
};
struct kinds_own kinds_own_node(const struct kind *a, const struct kind *b, size_t policy);

/* Prints "shop/web-1" or "shop/web-1 and 11 more". Returns @text, cut to @size. */
char *kind_print(const struct kind *kind, char *text, size_t size);

#endif
