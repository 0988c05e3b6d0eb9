/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled policy: compile_cluster() makes it, a blob holds it, and the loader, trace, matrix,
 * show and diff read it. Its tables have records of fixed width, exactly as in a blob, so that
 * reading one is checking it. A record refers to another by the index in the other's table, and to
 * a string by its offset in `strings` (0: the empty string).
 *
 * maps/segment.h says how to find a verdict. `own`, `common`, `peer_*` and list IDs here are the
 * numbers in the maps.
 */
#ifndef BULKHEAD_POLICY_POLICY_H
#define BULKHEAD_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "maps/ports.h"
#include "maps/segment.h"
#include "maps/types.h"
#include "model/cluster.h"

/* Words of the maps have the model's numbers. */
_Static_assert((int)INGRESS == (int)BH_INGRESS && (int)EGRESS == (int)BH_EGRESS, "directions");
_Static_assert((int)TIER_ADMIN == (int)BH_TIER_ADMIN &&
		       (int)TIER_NETWORK_POLICY == (int)BH_TIER_NETWORK_POLICY &&
		       (int)TIER_BASELINE == (int)BH_TIER_BASELINE &&
		       (int)TIER_DEFAULT == (int)BH_TIER_DEFAULT,
	       "tiers");

/* A range of another table's records. */
struct policy_range {
	uint32_t at, n;
};

/* 128 bits that identify a record's content, so that a successor recognises it. */
struct policy_key {
	uint64_t word[2];
};

/* Sorted by name. */
struct policy_namespace {
	uint32_t name; /* string */
	uint32_t flags; /* POLICY_AUDIT, POLICY_ISOLATED */
	struct policy_range labels; /* strings in `texts`: key, value, key, value ... */
};

/* Sorted by name. */
struct policy_node {
	uint32_t name;
	uint32_t pad;
	struct policy_range addresses; /* in node_addresses */
	struct policy_range labels; /* as a namespace's */
};

#define POLICY_AUDIT (1u << 0)
#define POLICY_L2 (1u << 1)
#define POLICY_MAC (1u << 2) /* `mac` is known */
#define POLICY_ISOLATED (1u << 3) /* extensions/v1beta1: the namespace isolates its endpoints */

/* Sorted by namespace, name. */
struct policy_endpoint {
	uint32_t ns; /* index in namespaces */
	uint32_t name, node, interface; /* strings; 0: not given */
	uint32_t flags;
	uint8_t mac[6];
	uint8_t pad[2];
	struct policy_range addresses; /* in endpoint_addresses, IPv4 first */
	struct policy_range allow_source; /* in cidrs */
	uint32_t uid[2]; /* XXH3 of the pod's UID; 0: unknown */
};

/* In place of a segment's index: an endpoint that was added after the compile (compile/update.h)
 * fits no segment and is isolated. Not in any blob. */
#define POLICY_NOWHERE UINT32_MAX

/* An endpoint's address, with its segment. Sorted by address. */
struct policy_address {
	struct address address;
	uint32_t endpoint, segment; /* indexes */
	uint32_t variation; /* ID; 0: none */
	uint32_t pad;
};

/* The segment of addresses that are no endpoint's. Sorted by address, then length. ::/0 always
 * exists. */
struct policy_prefix {
	struct address address;
	uint32_t length;
	uint32_t segment; /* index */
};

/*
 * The segment as which a subject is evaluated for what it has learned by a domain name
 * (maps/domain.h). Sorted by name, class.
 */
struct policy_domain {
	uint32_t name; /* string, as struct peer has it */
	/* policy_segment.own or .common[EGRESS] of the subject: `own` counts first */
	uint32_t class;
	uint32_t segment; /* index */
};

/* A clause of the matcher requires nothing of an endpoint, so the matcher holds for nearly all. */
#define MATCHER_NEGATIVE (1u << 0)

/* A set of endpoints or addresses that a policy names: its subject, or a rule's peers. It holds
 * if any of its clauses holds. */
struct policy_matcher {
	struct policy_key key;
	struct policy_range clauses;
	uint32_t flags; /* MATCHER_* */
	uint32_t pad;
};

enum policy_clause_kind { CLAUSE_ENDPOINTS, CLAUSE_ADDRESSES, CLAUSE_DOMAIN };

struct policy_clause {
	uint32_t kind;
	/* string: it holds in this namespace only; 0: in those that `namespaces` selects.
	 * CLAUSE_DOMAIN: the domain name, as struct peer has it */
	uint32_t ns;
	struct policy_range namespaces, pods; /* in requirements */
	struct address address; /* CLAUSE_ADDRESSES */
	uint32_t length;
	uint32_t pad;
	struct policy_range except; /* in cidrs */
};

struct policy_requirement {
	uint32_t key; /* string */
	uint32_t op; /* enum selector_op */
	struct policy_range values; /* strings in `texts` */
};

struct policy_cidr {
	struct address address;
	uint32_t length;
};

/* Sorted by ID. */
struct policy_rule {
	uint32_t id; /* used in verdict words; from 1, stable through a lineage */
	uint32_t policy; /* string: "namespace/name" or "name" */
	uint32_t name; /* string: the rule's own name; 0: none */
	uint32_t index; /* index in the policy's list */
	uint8_t direction, tier, action, kind; /* enums of the model */
	uint32_t flags; /* POLICY_AUDIT: its policy is only audited */
};

/*
 * An audit record: in a verdict word's place of a rule, it says that audited policies would deny
 * the flow if they were enforced. Sorted by ID.
 */
struct policy_audit {
	uint32_t id; /* shares the range of rules' IDs */
	uint32_t decides; /* verdict word without them */
	uint32_t denies; /* ID of the audited rule that would deny; 0: the policies would isolate */
	struct policy_range policies; /* strings in `texts`: the audited policies, by name */
};

/* A hostNetwork pod: no endpoint, but its name is known. Sorted by name. */
struct policy_host_pod {
	uint32_t name; /* string: "namespace/name" */
	uint32_t node; /* string */
};

/* A pod without an address yet. Its segments exist before its address does. Sorted by namespace,
 * name. */
struct policy_expected {
	uint32_t ns, name; /* strings */
	uint32_t uid; /* string; 0: unknown */
	uint32_t flags; /* POLICY_AUDIT */
	struct policy_range labels; /* strings in `texts`: key, value, key, value ... */
	struct policy_range ports; /* in named_ports */
	struct policy_range allow_source; /* in cidrs */
};

/*
 * The policies as the inputs gave them, in the order of struct cluster: given_fill() makes objects
 * of them again. Kind, tier, scope and so on are numbers of the model's enums. A selector is a
 * range of requirements.
 */
struct policy_given {
	uint32_t ns; /* string; 0: cluster-scoped */
	uint32_t name; /* string */
	uint8_t kind, tier;
	uint8_t applies, isolates; /* 1 << enum direction for each */
	int32_t priority;
	uint32_t flags; /* POLICY_AUDIT */
	struct policy_range namespaces, pods;
	struct policy_range rules[2]; /* in given_rules, by direction */
};

#define GIVEN_NAMED (1u << 0) /* the rule has a name */
#define GIVEN_UNKNOWN (1u << 1) /* these three: as in struct rule */
#define GIVEN_ANY_PEER (1u << 2)
#define GIVEN_ANY_PORT (1u << 3)

struct policy_given_rule {
	uint32_t name; /* string */
	uint32_t index; /* index in the policy's list */
	uint8_t action, flags; /* GIVEN_* */
	uint8_t pad[2];
	struct policy_range peers, ports; /* in given_peers, given_ports */
};

struct policy_given_peer {
	uint32_t scope;
	uint32_t length; /* of the CIDR */
	struct address address;
	struct policy_range namespaces, pods, nodes;
	struct policy_range keys; /* strings in `texts` */
	struct policy_range except; /* in cidrs */
};

struct policy_given_port {
	uint32_t name; /* string; 0: none */
	uint16_t first, last;
	uint8_t kind, protocol;
	uint8_t pad[2];
};

/* Isolates the endpoints of a matcher: a NetworkPolicy that selects them, or their namespace.
 * Sorted by policy. */
struct policy_isolation {
	uint32_t policy; /* string: "namespace/name", or "namespace NAME" */
	uint32_t matcher; /* index */
	uint32_t directions; /* 1 << enum direction for each */
	uint32_t flags; /* POLICY_AUDIT: it would isolate them */
};

/* A segment of this policy, or one that the last compile deleted (delete_generation not 0): the
 * next compile drops the record, and policy_update() keeps it. Sorted by ID. */
struct policy_segment {
	struct policy_key key;
	uint32_t id;
	uint32_t flags; /* BH_SEGMENT_* */
	uint32_t create_generation, delete_generation;
	/* Indexes of matchers in `numbers`, sorted. An endpoint belongs to the segment if, of
	 * the matchers that are not negative, it matches exactly `in`, and of the negative ones,
	 * all but `not_in`. */
	struct policy_range in, not_in;
	/* strings in `texts`: port names that rules use for destinations in the segment */
	struct policy_range names;
	struct policy_range variations;
	uint32_t next_variation; /* ID of the next new variation */
	uint32_t peer_own, peer_common;
	uint32_t own[2], common[2];
	struct bh_ports_ref fallback[2][2];
	uint32_t pad;
};

/* A way to number the segment's port names. Sorted by ID within a segment. */
struct policy_variation {
	uint32_t id;
	uint32_t resolution; /* ID */
};

/* Numbers of port names: {name, protocol, port} sorted. Sorted by ID. */
struct policy_resolution {
	struct policy_key key;
	uint32_t id; /* from 1; 0 gives no name a number, and has no record */
	uint32_t pad;
	struct policy_range ports; /* in named_ports */
};

struct policy_named_port {
	uint32_t name; /* string */
	uint16_t port;
	uint8_t protocol;
	uint8_t pad;
};

/* The ID of a subject class, a peer class or a list, through a lineage. Sorted by ID. */
struct policy_class {
	struct policy_key key;
	uint32_t id;
	uint32_t pad;
};

/* Sorted by subject, peer. `at` of its port list is an index in `intervals`. */
struct policy_pair {
	uint32_t subject, peer;
	struct bh_ports_ref ports;
};

/* Sorted by list, resolution. */
struct policy_named {
	uint32_t list, resolution;
	struct bh_ports_ref ports;
};

/* no address: its DNS name gives the backends' addresses */
#define POLICY_SERVICE_HEADLESS (1u << 0)
/* an alias of another DNS name: neither addresses nor backends */
#define POLICY_SERVICE_EXTERNAL_NAME (1u << 1)

/* Sorted by namespace, name. */
struct policy_service {
	uint32_t ns, name; /* strings */
	uint32_t flags; /* POLICY_SERVICE_* */
	struct policy_range ports; /* in service_ports */
	uint32_t pad;
};

/* A port of a Service, in host byte order. In the order of the Services, then as given. */
struct policy_service_port {
	uint32_t service; /* index */
	uint16_t port;
	uint8_t protocol;
	uint8_t pad;
	struct policy_range backends; /* IPv4 and IPv6 ones */
};

/* Flags of an EndpointSlice. kube-proxy sends packets to ready backends; if there is none, to
 * serving ones. */
#define POLICY_BACKEND_READY (1u << 0)
#define POLICY_BACKEND_SERVING (1u << 1)
#define POLICY_BACKEND_TERMINATING (1u << 2)

/* An address and port to which packets to a Service's port may go. Sorted by address, port
 * within the service port. policy_address_find() finds the address' owner. */
struct policy_backend {
	struct address address;
	/* string: its node, if no endpoint has the address; 0: unknown. backend_node() (frontend.h)
	 * knows the endpoint's: so no backend changes with a pod, of whomever it is */
	uint32_t node;
	uint16_t port;
	uint8_t flags; /* POLICY_BACKEND_* */
	uint8_t pad;
};

/* An externalIP, a load balancer's address, or a node port: not an address that the cluster
 * gave. */
#define POLICY_FRONTEND_EXTERNAL (1u << 0)
/* Traffic policy Local: only backends on the node that translates a packet. With EXTERNAL, for
 * packets from outside the cluster only. */
#define POLICY_FRONTEND_LOCAL (1u << 1)
/* An endpoint or node has the address as well, and owns its other ports. Any other frontend's
 * address belongs to Services only, at every port. */
#define POLICY_FRONTEND_SHARED (1u << 2)

/*
 * An address and port that stand for a Service's backends of that IP version. A node port's
 * address is 0 (::): every IPv4 or IPv6 address of the node that a packet is on. Sorted by
 * address, protocol, port, then service_port. Kubernetes allows two Services one external
 * address and port; the frontend then stands for the backends of both.
 */
struct policy_frontend {
	struct address address;
	uint32_t service_port; /* index */
	uint16_t port; /* destination port; of a node port, the node port */
	uint8_t protocol;
	uint8_t flags; /* POLICY_FRONTEND_* */
};

/* Which differences of two policies in a table can move an endpoint into another segment. */
enum policy_moves {
	POLICY_MOVES, /* any change of the table may */
	POLICY_REFERS, /* a changed record may; records may be added and deleted without */
	POLICY_APART, /* none, or another check finds them */
};

/*
 * Indexes for placing an endpoint without a walk over all matchers and segments:
 *   by_namespace  indexes of all matchers, sorted by matcher_namespace(), then by index
 *   by_matchers   indexes of the segments of endpoints that are not deleted, sorted by
 *                 policy_compare_lists()
 *
 * TABLE(record type, name, moves), in the order of the blob. `moves`: enum policy_moves.
 */
#define POLICY_TABLES(TABLE)                                    \
	TABLE(char, strings, APART)                             \
	TABLE(uint32_t, texts, REFERS)                          \
	TABLE(uint32_t, numbers, REFERS)                        \
	TABLE(uint32_t, endpoint_addresses, APART)              \
	TABLE(struct policy_cidr, cidrs, REFERS)                \
	TABLE(struct policy_requirement, requirements, MOVES)   \
	TABLE(struct policy_clause, clauses, MOVES)             \
	TABLE(struct policy_matcher, matchers, MOVES)           \
	TABLE(struct policy_namespace, namespaces, REFERS)      \
	TABLE(struct policy_node, nodes, APART)                 \
	TABLE(struct address, node_addresses, APART)            \
	TABLE(struct policy_endpoint, endpoints, APART)         \
	TABLE(struct policy_address, addresses, APART)          \
	TABLE(struct policy_prefix, prefixes, APART)            \
	TABLE(struct policy_domain, domains, APART)             \
	TABLE(struct policy_rule, rules, MOVES)                 \
	TABLE(struct policy_audit, audits, APART)               \
	TABLE(struct policy_given, given, MOVES)                \
	TABLE(struct policy_given_rule, given_rules, MOVES)     \
	TABLE(struct policy_given_peer, given_peers, MOVES)     \
	TABLE(struct policy_given_port, given_ports, MOVES)     \
	TABLE(struct policy_isolation, isolations, MOVES)       \
	TABLE(struct policy_host_pod, host_pods, APART)         \
	TABLE(struct policy_expected, expected, APART)          \
	TABLE(struct policy_segment, segments, REFERS)          \
	TABLE(struct policy_variation, variations, MOVES)       \
	TABLE(struct policy_resolution, resolutions, MOVES)     \
	TABLE(struct policy_named_port, named_ports, REFERS)    \
	TABLE(struct policy_class, classes, MOVES)              \
	TABLE(struct policy_class, lists, MOVES)                \
	TABLE(struct policy_pair, pairs, MOVES)                 \
	TABLE(struct bh_interval, intervals, MOVES)             \
	TABLE(struct policy_named, named, MOVES)                \
	TABLE(uint32_t, by_namespace, APART)                    \
	TABLE(uint32_t, by_matchers, APART)                     \
	TABLE(struct policy_service, services, APART)           \
	TABLE(struct policy_service_port, service_ports, APART) \
	TABLE(struct policy_backend, backends, APART)           \
	TABLE(struct policy_frontend, frontends, APART)         \
	TABLE(struct policy_cidr, service_cidrs, APART)         \
	TABLE(struct policy_cidr, resolvers, APART)

#define POLICY_TABLE_FIELD(type, name, moves) \
	type *name;                           \
	size_t n_##name;

/*
 * Reads parts of a policy when they are asked for. A part that cannot be read stays 0, and
 * `error` is set: check `error` before an answer is used.
 */
struct policy_source {
	void (*need)(struct policy_source *source, const void *at, size_t size);
	int error; /* -errno of the first failure, reported; else 0 */
};

/* The members of a policy, lazy or not. */
#define POLICY_MEMBERS                                                                          \
	uint64_t lineage; /* names the lineage: a hash of its first policy */                   \
	uint64_t parent; /* checksum of the policy that this one continues; 0: none */          \
	uint64_t checksum; /* of the blob that holds it */                                      \
	uint32_t generation; /* from 1 */                                                       \
	uint32_t uplinks_n; /* [bulkhead] uplink: the first strings of `texts` */               \
	uint32_t node; /* [bulkhead] node: string; 0: not given */                              \
	uint32_t next_segment, next_class, next_rule, next_resolution, next_list;               \
	POLICY_TABLES(POLICY_TABLE_FIELD)                                                       \
	void *blob; /* holds the tables; NULL: each has memory of its own */                    \
	struct policy_source *source; /* NULL: the whole policy is in memory */                 \
	/* the policy before overlay_endpoints() replaced tables, whose others both have;       \
	 * owned. NULL: it replaced none */                                                     \
	struct policy *compiled;                                                                \
	/* what the compile set aside (asides.h); NULL: nothing, or unknown. Not in any blob */ \
	struct asides *asides;                                                                  \
	/* the policy as it was compiled, where this node adds segments to it (extend.h);       \
	 * owned. NULL: it adds none. A whole policy's is whole */                              \
	struct lazy_policy *plain;

/* A policy of which only the records that were asked for are read (lazy_policy.h). */
struct lazy_policy {
	POLICY_MEMBERS
};

/* A policy that is in memory, all of it: it has no source. */
struct policy {
	union {
		struct {
			POLICY_MEMBERS
		};
		struct lazy_policy lazy; /* the same members */
	};
};

/* Initialises the members that a policy and the headers of blobs and deltas have in common. */
#define POLICY_FACTS(from)                                                                      \
	.lineage = (from)->lineage, .parent = (from)->parent, .generation = (from)->generation, \
	.uplinks_n = (from)->uplinks_n, .node = (from)->node,                                   \
	.next_segment = (from)->next_segment, .next_class = (from)->next_class,                 \
	.next_rule = (from)->next_rule, .next_resolution = (from)->next_resolution,             \
	.next_list = (from)->next_list

void policy_free(struct policy *policy);

/* Frees the tables that overlay_endpoints() made, and gives the policy back those that they
 * replaced. policy_free() does so, too. */
void overlay_free(struct policy *policy);

/* Returns the policy as it was compiled: without the overlay, and without the node's extension. */
const struct policy *overlay_compiled(const struct policy *policy);

/* Returns the same policy for a function that needs not all of it. NULL: @policy is NULL. */
static inline const struct lazy_policy *policy_lazy(const struct policy *policy)
{
	return policy ? &policy->lazy : NULL;
}

/* Every lazy policy is the member `lazy` of a policy, which this returns. If it has a source, it is
 * not whole, and may only be freed. NULL: @lazy is NULL. */
static inline struct policy *policy_of_lazy(struct lazy_policy *lazy)
{
	return (struct policy *)lazy;
}

/* Returns the policy as it was compiled, without this node's extension. */
static inline const struct policy *policy_plain(const struct policy *policy)
{
	return policy && policy->plain ? policy_of_lazy(policy->plain) : policy;
}

/* bsearch() must not get the NULL of an empty table. */
static inline void *policy_search(const void *key, const void *table, size_t n, size_t size,
				  int (*compare)(const void *, const void *))
{
	return n ? bsearch(key, table, n, size, compare) : NULL;
}

static inline const char *policy_string(const struct policy *policy, uint32_t string)
{
	return policy->strings + string;
}

/* Returns the offset of a string, which is not empty, in a table of strings; 0: it is not there.
 * Reads the whole table. */
uint32_t policy_find_string(const char *strings, size_t n, const char *string);

/*
 * matcher_namespace() returns the namespace without which none of the matcher's clauses holds;
 * "": there is none. policy_compare_lists() orders segments by their lists of matchers.
 */
const char *matcher_namespace(const struct policy *policy, const struct policy_matcher *matcher);

/* Returns true if endpoints may be in the segment. */
static inline bool policy_segment_has_members(const struct policy_segment *segment)
{
	return !segment->delete_generation && !(segment->flags & BH_SEGMENT_EXTERNAL);
}

/* Returns true if the segment is one as which subjects are evaluated for what they have learned by
 * a domain name: neither an endpoint nor an address is in it. */
static inline bool policy_segment_is_by_domain(const struct policy_segment *segment)
{
	return segment->flags & BH_SEGMENT_EXTERNAL && segment->flags & BH_SEGMENT_POLICY(EGRESS);
}

/* Returns true if endpoints or addresses may be in the segment. */
static inline bool policy_segment_is_peer(const struct policy_segment *segment)
{
	return !segment->delete_generation && !policy_segment_is_by_domain(segment);
}

struct policy_lists {
	const uint32_t *in, *not_in;
	uint32_t n_in, n_not_in;
};

struct policy_lists policy_lists_of(const struct policy *policy,
				    const struct policy_segment *segment);
int policy_compare_lists(const struct policy_lists *a, const struct policy_lists *b);

/* NULL: there is no such namespace or endpoint,
 * or no endpoint has the address. */
const struct policy_namespace *policy_namespace_by_name(const struct policy *policy,
							const char *name);
const struct policy_endpoint *policy_endpoint_by_name(const struct policy *policy, const char *ns,
						      const char *name);
const struct policy_address *policy_address_find(const struct policy *policy,
						 const struct address *address);
/* Returns true if a Node of the policy has the address. */
bool policy_has_node(const struct policy *policy, const struct address *address);
/* Sets @hash to policy_endpoint.uid of a pod's UID (NULL: unknown). */
void policy_uid_hash(const char *uid, uint32_t hash[2]);
/* NULL: there is no hostNetwork pod "namespace/name". */
const struct policy_host_pod *policy_host_pod_by_name(const struct policy *policy,
						      const char *name);
/* NULL: there is no such node. */
const struct policy_node *policy_node_by_name(const struct policy *policy, const char *name);
/* Returns true if a Node object or an endpoint's node has the name, or if the policy names no node
 * and no endpoint's address. */
bool policy_knows_node(const struct policy *policy, const char *name);
/* Returns the number of endpoints that have an address and name no node: none of them is guarded.
 */
size_t policy_n_without_node(const struct policy *policy);
/* Finds the segment of the longest prefix around the address. Never NULL. Ignores endpoints. */
const struct policy_segment *policy_prefix_find(const struct policy *policy,
						const struct address *address);
/* As policy_prefix_find(), among prefixes of at most @length bits. */
const struct policy_segment *policy_prefix_around(const struct policy *policy,
						  const struct address *address,
						  unsigned int length);
/* Returns the segment as which endpoints of @subject are evaluated for what they have learned by
 * the domain name; @subject if none of their rules has the name, or @name is NULL. */
const struct policy_segment *policy_by_domain(const struct policy *policy, const char *name,
					      const struct policy_segment *subject);
/* Returns the first index behind @i of policy->domains that has another name. */
size_t policy_domain_next(const struct policy *policy, size_t i);
/* Returns true if @pattern, a name as struct peer has it, stands for the name. */
bool policy_domain_matches(const char *pattern, const char *name);
/* Returns the address with all but its first @length bits (0 to 128) cleared. */
struct address address_mask(const struct address *address, unsigned int length);

/* NULL: no rule, or segment, has the ID. @policy may be NULL for rules: it has none. */
const struct policy_rule *policy_rule_by_id(const struct policy *policy, uint32_t id);
/* NULL: no audit record has the ID, or the verdict word has none. @policy may be NULL. */
const struct policy_audit *policy_audit_by_id(const struct policy *policy, uint32_t id);
const struct policy_audit *policy_audit_of(const struct policy *policy, uint32_t verdict);
/* Returns the rule that decides by the word, also if it has an audit record; NULL: none. */
const struct policy_rule *policy_rule_of(const struct policy *policy, uint32_t verdict);
const struct policy_segment *policy_segment_by_id(const struct policy *policy, uint32_t id);

#endif
