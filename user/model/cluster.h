/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster as the inputs describe it: namespaces, nodes, endpoints, Services and policies in
 * one normal form. The readers in input/ fill it. cluster_finish() completes, sorts and checks
 * it. The compiler only reads it. Nothing here knows a file format or the kernel.
 */
#ifndef BULKHEAD_MODEL_CLUSTER_H
#define BULKHEAD_MODEL_CLUSTER_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* The cluster interns every string below: equal strings are one pointer. */

struct label {
	const char *key, *value;
};

/* Sorted by key. Each key stands once. */
struct labels {
	struct label *at;
	size_t n;
};

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_DOES_NOT_EXIST };

struct requirement {
	const char *key;
	enum selector_op op;
	const char **values; /* sorted, each once; Exists and DoesNotExist have none */
	size_t n_values;
};

/* Requirements that must all hold; a selector without any selects everything. A label in
 * matchLabels becomes an In with one value. Canonical: sorted by key, operator and values, each
 * requirement once. */
struct selector {
	struct requirement *at;
	size_t n;
};

/* In network byte order. An IPv4 address is in mapped form, ::ffff:a.b.c.d. */
struct address {
	uint8_t bytes[16];
};

/* `length` is that of the mapped form: an IPv4 /n is 96 + n. Host bits are 0. */
struct cidr {
	struct address address;
	uint8_t length;
};

/* The label that every namespace has: its name. */
#define NAME_LABEL "kubernetes.io/metadata.name"

struct namespace
{
	const char *name;
	struct labels labels; /* with kubernetes.io/metadata.name */
	/* false: other objects use the namespace, and no input declares it; its only label is its
	 * name */
	bool declared;
	bool isolated; /* extensions/v1beta1: isolation DefaultDeny for ingress */
	bool audit;
	struct where where;
};

struct node {
	const char *name;
	struct labels labels;
	struct address *addresses;
	size_t n_addresses;
	struct where where;
};

struct named_port {
	const char *name;
	uint8_t protocol; /* IPPROTO_TCP, _UDP or _SCTP */
	uint16_t port; /* 1 to 65535 */
};

/* A living pod with addresses of its own. A hostNetwork pod is evaluated as its node. */
struct endpoint {
	uint32_t ns; /* index into cluster.namespaces, set by cluster_finish() */
	const char *ns_name, *name;
	struct labels labels;
	struct address *addresses; /* sorted; addresses of the first one's IP version come first */
	size_t n_addresses;
	struct named_port *ports; /* sorted by name, protocol, port */
	size_t n_ports;
	const char *node; /* NULL: not on a node yet */
	const char *interface; /* on the host; NULL: found by route */
	uint8_t mac[6];
	bool has_mac;
	bool l2; /* `mode = l2`: bridged, so that peers find it by its MAC */
	bool audit;
	bool not_ready; /* the condition Ready is not True */
	bool terminating; /* the pod is being deleted */
	/* the kind of the workload whose pods it stands for, or "Pod" (input/workload.h); NULL: it
	 * is a pod that runs */
	const char *workload;
	const char *uid; /* the pod's; NULL: not given */
	const char *created; /* when the pod was, as Kubernetes writes it; NULL: not given */
	/* "CONTAINER:INTERFACE" of the pod that a container runtime added */
	const char *attachment;
	bool unknown; /* its labels are unknown: it fits no segment, so it is isolated */
	/* it stays unknown, whatever a policy knows of its name: its address may still be another
	 * pod's on other nodes */
	bool rests;
	const char *as_policy; /* its name in the active policy; it has no labels then */
	struct cidr *allow_source; /* further addresses that it may send from */
	size_t n_allow_source;
	struct where where;
};

enum direction { INGRESS, EGRESS };
enum action { ACTION_ALLOW, ACTION_DENY, ACTION_PASS };

/* In the order in which they are asked. */
enum tier { TIER_ADMIN, TIER_NETWORK_POLICY, TIER_BASELINE, TIER_DEFAULT };

enum policy_kind {
	POLICY_NETWORK, /* networking.k8s.io/v1 NetworkPolicy */
	POLICY_NETWORK_V1BETA1, /* extensions/v1beta1 NetworkPolicy */
	POLICY_ADMIN, /* AdminNetworkPolicy */
	POLICY_CLUSTER, /* ClusterNetworkPolicy */
	POLICY_BASELINE_ADMIN, /* BaselineAdminNetworkPolicy */
};

static inline bool policy_kind_is_network(enum policy_kind kind)
{
	return kind <= POLICY_NETWORK_V1BETA1;
}

enum peer_scope {
	PEER_NAMESPACE, /* endpoints of the policy's own namespace that `pods` selects */
	PEER_NAMESPACES, /* ... of the namespaces that `namespaces` selects */
	PEER_SELF, /* ... of the subject's namespace */
	PEER_NOT_SELF, /* ... of every other namespace */
	/* ... of the namespaces that have each of `keys` with the subject's value */
	PEER_SAME_LABELS,
	PEER_NOT_SAME_LABELS, /* ... that have none of `keys` with the subject's value */
	PEER_NODES, /* addresses of the nodes that `nodes` selects */
	PEER_CIDR, /* addresses in `cidr` and in none of `except` */
	PEER_DOMAINS, /* addresses that the subject has learned by a domain name of `keys` */
	PEER_LAST = PEER_DOMAINS
};

struct peer {
	enum peer_scope scope;
	struct selector namespaces, pods, nodes;
	/* Keys of labels. PEER_DOMAINS: domain names in lower case, without a trailing dot:
	 * "api.example.com", or "*.example.com" for every name below example.com. Sorted, each
	 * once; without any the peer matches nothing. */
	const char **keys;
	size_t n_keys;
	struct cidr cidr;
	struct cidr *except;
	size_t n_except;
};

enum port_kind {
	PORT_PROTOCOL, /* every port of `protocol` */
	PORT_RANGE, /* `first` to `last`, both included */
	PORT_NAME, /* the port that the destination endpoint gives `name` */
};

struct port {
	enum port_kind kind;
	uint8_t protocol; /* 0 with PORT_NAME: the protocol that the endpoint gives the name */
	uint16_t first, last;
	const char *name;
};

struct rule {
	const char *name; /* NULL: not given */
	uint32_t index; /* index in the policy's list of this direction, from 0 */
	enum action action;
	/* a peer or port was literally {}, and so the rule has no peers and ports: an Allow rule
	 * matches nothing, a Deny or Pass rule denies everything */
	bool unknown;
	bool any_peer; /* endpoints and external addresses alike; false: one of `peers` */
	/* any_peer, and not since the list is missing: the list is empty, `from: []` */
	bool no_list;
	bool any_port; /* every protocol; false: one of `ports` */
	struct peer *peers;
	size_t n_peers;
	struct port *ports;
	size_t n_ports;
	struct where where;
};

struct policy_object {
	enum policy_kind kind;
	enum tier tier;
	int32_t priority; /* 0 to 1000; 0 if the kind has none */
	const char *ns_name; /* NULL: the policy is cluster-scoped */
	const char *name;
	struct selector namespaces; /* of the subject's namespace; NetworkPolicies use ns_name */
	struct selector pods;
	bool applies[2]; /* by direction: the policy's rules of the direction count */
	bool isolates[2]; /* by direction: the policy isolates its subject */
	bool audit; /* the policy has no effect: only the flows that it would deny count */
	bool accepted; /* an API server has it */
	struct rule *rules[2];
	size_t n_rules[2];
	struct where where;
};

struct cluster {
	/* Set before reading, or before the cluster is finished: an object that an API server has
	 * accepted and that cannot be used is set aside with a warning, not refused. */
	bool lenient;
	/* [bulkhead] of the INI form. The command line overrides it. */
	const char *node; /* NULL: not said */
	const char **uplinks;
	size_t n_uplinks;
	struct cidr *service_cidrs; /* sorted, each once */
	size_t n_service_cidrs;
	struct address *resolvers; /* DNS servers whose answers teach; sorted, each once */
	size_t n_resolvers;

	/* cluster_finish() sorts namespaces and nodes by name, endpoints by namespace and name,
	 * policies in the order in which they are asked: tier, priority, kind, namespace, name. Of
	 * several BaselineAdminNetworkPolicies, "default" comes first, and the compiler sets the
	 * others aside. */
	struct namespace *namespaces;
	size_t n_namespaces;
	struct node *nodes;
	size_t n_nodes;
	struct endpoint *endpoints;
	size_t n_endpoints;
	struct policy_object *policies;
	size_t n_policies;
	struct endpoint *host_pods; /* hostNetwork pods: not endpoints, but Services select them */
	size_t n_host_pods;
	struct endpoint *expected; /* pods without an address yet */
	size_t n_expected;
	struct service *services; /* model/cluster_service.h */
	size_t n_services;
	struct slice *slices;
	size_t n_slices;
	bool workloads; /* before the first input: workloads stand for their pods */
	size_t n_unread; /* objects that look like policies, of kinds that are not read */

	struct obstack memory; /* holds all that the cluster points to */
	struct interned *strings; /* private to cluster.c */
};

void cluster_init(struct cluster *cluster);
void cluster_free(struct cluster *cluster);

/*
 * For a process that makes a cluster of the same objects again and again. It reads each object into
 * one cluster, takes it out of there, and puts it into each cluster that it makes.
 *
 * cluster_take() takes the objects out of a cluster that is not finished: what it returns is in the
 * cluster's memory; NULL: there were none. cluster_init_from() makes a cluster without objects that
 * has the strings of @from, and cluster_put() adds objects to it that were taken from @from. It may
 * be finished, and its Pods and Nodes may lose addresses. It needs @from, which must not change, as
 * long as it is used.
 */
struct cluster_part;
const struct cluster_part *cluster_take(struct cluster *cluster);
void cluster_init_from(const struct cluster *from, struct cluster *to);
void cluster_put(const struct cluster_part *part, struct cluster *to);

/* Returns one pointer for equal strings. @string need not end in NUL. */
const char *cluster_intern(struct cluster *cluster, const char *string, size_t length);

/* Add a zeroed element to an array. The pointer is valid until the next such call. */
struct namespace *cluster_add_namespace(struct cluster *cluster);
struct node *cluster_add_node(struct cluster *cluster);
struct endpoint *cluster_add_endpoint(struct cluster *cluster);
struct endpoint *cluster_add_host_pod(struct cluster *cluster);
struct endpoint *cluster_add_expected(struct cluster *cluster);
struct policy_object *cluster_add_policy(struct cluster *cluster);

/* Removes the endpoints that have no address left, before cluster_finish(). */
void cluster_remove_unaddressed(struct cluster *cluster);

/*
 * Completes the cluster after the last input: declares namespaces that are only used, adds each
 * one's name label, and sorts. Refuses an object given twice, and two living endpoints with one
 * address, and names both places. Returns 0, or -EINVAL with the errors reported.
 */
int cluster_finish(struct cluster *cluster, struct diag *diag);
/* Finishes the policies of a finished cluster after others have replaced all of them. The cluster
 * must have their namespaces. Returns as cluster_finish() does. */
int cluster_finish_policies(struct cluster *cluster, struct diag *diag);

/* Look an object up, after cluster_finish(). NULL: there is none. */
const struct namespace *cluster_namespace(const struct cluster *cluster, const char *name);

/* Sort what a reader has filled in any order, as the structs promise. */
void labels_sort(struct labels *labels);
void selector_sort(struct selector *selector);
size_t texts_sort(const char **texts, size_t n); /* returns how many differ: each stays once */
bool texts_have(const char *const *texts, const char *text); /* @texts end with NULL */

/* Matches labels as Kubernetes defines it: NotIn and DoesNotExist match if the key is
 * missing. */
bool selector_matches(const struct selector *selector, const struct labels *labels);
const char *labels_get(const struct labels *labels, const char *key); /* NULL: the key is missing */

enum family { IPV4, IPV6, FAMILIES };

/* Sorts addresses and keeps each once. Addresses of the first one's IP version come first.
 * Returns how many are left. */
size_t addresses_sort(struct address *addresses, size_t n);

bool address_is_ipv4(const struct address *address);
/* No IPv6 CIDR contains an IPv4 address, not even ::/0. */
bool cidr_contains(const struct cidr *cidr, const struct address *address);
bool cidr_covers(const struct cidr *cidr, const struct cidr *inner); /* also where they are equal */

/* Print "10.0.0.1", "fd00::1" or "10.0.0.0/8". ADDRESS_TEXT bytes hold any of these. */
#define ADDRESS_TEXT 52
const char *address_print(const struct address *address, char text[ADDRESS_TEXT]);
const char *cidr_print(const struct cidr *cidr, char text[ADDRESS_TEXT]);
/* Parse an address or a CIDR. Return 0, or -EINVAL if the text is none. Clear the host bits
 * of a CIDR. Refuse the mapped form: an address has one name. */
int address_parse(const char *text, struct address *address);
int cidr_parse(const char *text, struct cidr *cidr);
/* Parses an address in each spelling that an API server takes, and kube-proxy serves: also with
 * zeros before the bytes of an IPv4 address, and in the mapped form. */
int address_parse_loose(const char *text, struct address *address);
/* Returns true if the address cannot be a Service's: it is unspecified, loopback, link-local or
 * multicast on the link. */
bool address_is_special(const struct address *address);

#endif
