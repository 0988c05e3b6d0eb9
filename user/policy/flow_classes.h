/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds: the ends of flows, grouped so that none of the given policies tells two members of a kind
 * apart. A member is an endpoint, a node, the addresses of a prefix that no endpoint, node or
 * longer prefix has, or a domain name of a rule: addresses of the widest prefix that an endpoint
 * has learned by the name. With one policy, a kind is a segment, divided if its endpoints number
 * port names differently.
 *
 * Kinds do not tell an endpoint's own node from other nodes: see flow_classes_local_node().
 */
#ifndef BULKHEAD_POLICY_FLOW_CLASSES_H
#define BULKHEAD_POLICY_FLOW_CLASSES_H

#include "policy/sides.h"

#define FLOW_CLASSES_POLICIES 2 /* the most policies */
#define FLOW_CLASS_NOWHERE POLICY_NOWHERE /* an endpoint in no segment, which is isolated */
#define FLOW_CLASS_ABSENT (UINT32_MAX - 1)

/* The place of a member in one policy. */
struct flow_class_index {
	/* index in policy->segments, or FLOW_CLASS_NOWHERE; FLOW_CLASS_ABSENT: the policy has no
	 * such end */
	uint32_t segment;
	uint32_t resolution; /* ID of the numbers that the member gives port names; 0: none */
	/* equal for domain names that the policy does not tell apart; 0: the member is no name of
	 * the policy */
	uint32_t names;
};

struct flow_class_member {
	/* FLOW_CLASS_ABSENT for policies that are not given */
	struct flow_class_index place[FLOW_CLASSES_POLICIES];
	bool external; /* a node, a prefix or a domain name */
	bool is_node;
	/* its addresses in the last policy that has it; `name` is "namespace/pod", "node NAME",
	 * "10.0.0.0/8", "name:*.example.com" or "world", with " over IPv4" or " over IPv6" behind
	 * it if the two differ */
	struct flow_side end;
	/* The endpoint's node, or the node itself, by policy; "": unknown. */
	const char *node[FLOW_CLASSES_POLICIES];
};

struct flow_class {
	const struct flow_class_member *members;
	size_t n; /* number of members, at least 1 */
	bool has[FAMILIES]; /* a member has an address of the IP version */
	bool exact; /* of flow_classes_list_each(): stands for one end, by that end's own name */
};

struct flow_classes {
	size_t policies; /* number of policies that the kinds are of */
	struct flow_class *at; /* endpoints first, then nodes, then prefixes and names */
	size_t n;
	struct flow_class_member *members; /* of all kinds, kind by kind */
	size_t n_members;
};

/* Lists the kinds of @n policies, 1 or 2, which must outlive them. Returns 0, and the kinds are
 * to be freed; or -ENOMEM. */
int flow_classes_list(const struct policy *const policies[], size_t n, struct flow_classes *kinds);
/* As flow_classes_list() for one policy, but each end is a kind of its own, with both IP
 * versions. */
int flow_classes_list_each(const struct policy *policy, struct flow_classes *kinds);
void flow_classes_free(struct flow_classes *kinds);

/* Returns the segment as which endpoints of @subject are evaluated for the kind: @subject, or
 * another one if the kind is a domain name of their rules. */
const struct policy_segment *flow_class_subject(const struct policy *policy,
						const struct flow_class *kind,
						const struct policy_segment *subject);

/* Returns true if a flow may go from a member of one kind to another member of the other: they have
 * an IP version in common, and one of them is an endpoint. A domain name is no source of flows. */
bool flow_classes_connect(const struct flow_class *from, const struct flow_class *to);

/*
 * Says if some endpoint of one kind is on a node of the other, and if some is not, in the policy
 * of index @policy. A node always reaches its own endpoints; an endpoint reaches its own
 * node unless an Admin or Baseline rule denies it.
 */
struct flow_classes_local {
	bool own, foreign;
};
struct flow_classes_local flow_classes_local_node(const struct flow_class *a,
						  const struct flow_class *b, size_t policy);

/*
 * flow_class_name.c. Prints a name of the workloads that the kind's pods are of: "shop/web-* (12
 * pods)", "shop/api-* and 2 more (30 pods)"; of an end without a generated suffix, its own:
 * "shop/db-0", "node w1 and 2 more". A name with "-*" is a pattern of the pods' names. Returns
 * @text, cut to
 * @size.
 */
char *flow_class_print(const struct flow_class *kind, char *text, size_t size);

#endif
