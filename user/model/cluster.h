/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster as the inputs describe it: namespaces, nodes, endpoints and
 * policies of every kind in one normal form. The readers in input/ fill it,
 * cluster_finish() completes, sorts and checks it, and the compiler only reads
 * it. Nothing here knows a file format or the kernel.
 */
#ifndef BULKHEAD_MODEL_CLUSTER_H
#define BULKHEAD_MODEL_CLUSTER_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* Every string below is interned in the cluster: equal strings are one pointer. */

struct label {
	const char *key, *value;
};

/* Sorted by key; a key stands once. */
struct labels {
	struct label *at;
	size_t n;
};

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_DOES_NOT_EXIST };

struct requirement {
	const char *key;
	enum selector_op op;
	const char **values; /* sorted, each once; none for Exists and DoesNotExist */
	size_t n_values;
};

/* All requirements must hold; none selects everything. matchLabels become In with one value.
 * Canonical: sorted by key, operator, values, each requirement once. */
struct selector {
	struct requirement *at;
	size_t n;
};

/* Network byte order; IPv4 is mapped (::ffff:a.b.c.d). */
struct address {
	uint8_t bytes[16];
};

/* `length` counts in the mapped form: an IPv4 /n is 96 + n. Host bits are 0. */
struct cidr {
	struct address address;
	uint8_t length;
};

struct namespace
{
	const char *name;
	struct labels labels; /* with kubernetes.io/metadata.name */
	bool declared; /* false: only used by other objects; it has its name label only then */
	bool isolated; /* extensions/v1beta1 ingress isolation DefaultDeny */
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

/* A living pod with addresses of its own (hostNetwork pods are their node). */
struct endpoint {
	uint32_t ns; /* index into cluster.namespaces, set by cluster_finish() */
	const char *ns_name, *name;
	struct labels labels;
	struct address *addresses; /* sorted, the family of the first one given first */
	size_t n_addresses;
	struct named_port *ports; /* sorted by name, protocol, port */
	size_t n_ports;
	const char *node; /* NULL: on no node yet */
	const char *interface; /* host side, NULL: find it by route */
	uint8_t mac[6];
	bool has_mac;
	bool l2; /* `mode = l2`: bridged, peers resolve by MAC */
	bool audit;
	bool not_ready; /* its condition Ready is not True */
	bool terminating; /* it is being deleted */
	const char *uid; /* of the pod, NULL: not said */
	const char *attachment; /* "CONTAINER:INTERFACE" of what a container runtime had added */
	bool unknown; /* nobody has said whose it is: it fits no segment, and is isolated */
	const char *as_policy; /* the name by which the policy in force knows it; no labels then */
	struct cidr *allow_source; /* further addresses it may send from */
	size_t n_allow_source;
	struct where where;
};

enum direction { INGRESS, EGRESS };
enum action { ACTION_ALLOW, ACTION_DENY, ACTION_PASS };

/* In the order they are asked. */
enum tier { TIER_ADMIN, TIER_NETWORK_POLICY, TIER_BASELINE, TIER_DEFAULT };

enum policy_kind {
	POLICY_NETWORK, /* networking.k8s.io/v1 NetworkPolicy */
	POLICY_NETWORK_V1BETA1, /* extensions/v1beta1 NetworkPolicy */
	POLICY_ADMIN, /* AdminNetworkPolicy */
	POLICY_CLUSTER, /* ClusterNetworkPolicy */
	POLICY_BASELINE_ADMIN, /* BaselineAdminNetworkPolicy */
};

enum peer_scope {
	PEER_NAMESPACE, /* endpoints of the policy's own namespace that `pods` selects */
	PEER_NAMESPACES, /* ... of the namespaces that `namespaces` selects */
	PEER_SELF, /* ... of the subject's namespace */
	PEER_NOT_SELF, /* ... of every other namespace */
	PEER_SAME_LABELS, /* ... of the namespaces that have each of `keys` with the subject's value
			   */
	PEER_NOT_SAME_LABELS, /* ... that have none of `keys` with the subject's value */
	PEER_NODES, /* addresses of the nodes that `nodes` selects */
	PEER_CIDR, /* addresses in `cidr` and in none of `except` */
};

struct peer {
	enum peer_scope scope;
	struct selector namespaces, pods, nodes;
	const char **keys; /* sorted, each once; none: the peer matches nothing */
	size_t n_keys;
	struct cidr cidr;
	struct cidr *except;
	size_t n_except;
};

enum port_kind {
	PORT_PROTOCOL, /* every port of `protocol` */
	PORT_RANGE, /* `first` to `last`, both included */
	PORT_NAME, /* what the destination endpoint calls `name` */
};

struct port {
	enum port_kind kind;
	uint8_t protocol; /* 0 with PORT_NAME: whichever the endpoint gives the name */
	uint16_t first, last;
	const char *name;
};

struct rule {
	const char *name; /* NULL: none given */
	uint32_t index; /* in the policy's list of this direction, from 0 */
	enum action action;
	bool unknown; /* a peer or port was literally {}: an Allow rule matches nothing, a Deny or
		       * Pass rule denies all; it has no peers and ports then */
	bool any_peer; /* endpoints and external addresses alike; else one of `peers`, if any */
	bool any_port; /* every protocol; else one of `ports`, if any */
	struct peer *peers;
	size_t n_peers;
	struct port *ports;
	size_t n_ports;
	struct where where;
};

struct policy_object {
	enum policy_kind kind;
	enum tier tier;
	int32_t priority; /* 0 to 1000; 0 where the kind has none */
	const char *ns_name; /* NULL: cluster-scoped */
	const char *name;
	struct selector namespaces; /* subject; NetworkPolicies: by ns_name instead */
	struct selector pods;
	bool applies[2]; /* by direction: the rules of that direction count */
	bool isolates[2]; /* the subject is isolated in that direction, by this policy */
	struct rule *rules[2];
	size_t n_rules[2];
	struct where where;
};

struct cluster {
	/* Of [bulkhead] in INI; the command line goes first. */
	const char *node; /* NULL: not said */
	const char **uplinks;
	size_t n_uplinks;
	struct cidr *service_cidrs; /* sorted, each once */
	size_t n_service_cidrs;

	/* After cluster_finish(): namespaces and nodes by name, endpoints by namespace and name,
	 * policies in the order they are asked: tier, priority, kind, namespace, name. */
	struct namespace *namespaces;
	size_t n_namespaces;
	struct node *nodes;
	size_t n_nodes;
	struct endpoint *endpoints;
	size_t n_endpoints;
	struct policy_object *policies;
	size_t n_policies;
	struct endpoint *host_pods; /* hostNetwork: no endpoints, but Services select them */
	size_t n_host_pods;
	struct endpoint *expected; /* pods that have no address yet */
	size_t n_expected;
	struct service *services; /* model/service.h */
	size_t n_services;
	struct slice *slices;
	size_t n_slices;

	struct obstack memory; /* all that the cluster points to */
	struct interned *strings; /* cluster.c's own */
};

void cluster_init(struct cluster *cluster);
void cluster_free(struct cluster *cluster);

/* One pointer for equal strings; @string need not end in NUL. */
const char *cluster_intern(struct cluster *cluster, const char *string, size_t length);

/* Grow the arrays by one zeroed element. The pointer is good until the next call. */
struct namespace *cluster_add_namespace(struct cluster *cluster);
struct node *cluster_add_node(struct cluster *cluster);
struct endpoint *cluster_add_endpoint(struct cluster *cluster);
struct endpoint *cluster_add_host_pod(struct cluster *cluster);
struct endpoint *cluster_add_expected(struct cluster *cluster);
struct policy_object *cluster_add_policy(struct cluster *cluster);

/*
 * Completes the cluster once every input is read: declares used namespaces, adds each one's name
 * label, sorts, and refuses an object given twice and two living endpoints with one address,
 * naming both places. Returns 0, or -EINVAL with the errors reported.
 */
int cluster_finish(struct cluster *cluster, struct diag *diag);

/* NULL: no such object. After cluster_finish(). */
const struct namespace *cluster_namespace(const struct cluster *cluster, const char *name);

/* Bring what a reader has filled in any order into the form that the structs promise. */
void labels_sort(struct labels *labels);
void selector_sort(struct selector *selector);
size_t texts_sort(const char **texts, size_t n); /* returns how many are left, each once */

/* Label matching as Kubernetes defines it; a missing key matches NotIn and DoesNotExist. */
bool selector_matches(const struct selector *selector, const struct labels *labels);
const char *labels_get(const struct labels *labels, const char *key); /* NULL: not there */

enum family { IPV4, IPV6, FAMILIES };

/* Sorts, and keeps each once: the family of the first one given comes first. Returns how many are
 * left. */
size_t addresses_sort(struct address *addresses, size_t n);

bool address_is_ipv4(const struct address *address);
/* An IPv6 CIDR contains no IPv4 address, not even ::/0. */
bool cidr_contains(const struct cidr *cidr, const struct address *address);
bool cidr_covers(const struct cidr *cidr, const struct cidr *inner); /* equal counts */

/* "10.0.0.1", "fd00::1", "10.0.0.0/8". ADDRESS_TEXT holds any of them. */
#define ADDRESS_TEXT 52
const char *address_print(const struct address *address, char text[ADDRESS_TEXT]);
const char *cidr_print(const struct cidr *cidr, char text[ADDRESS_TEXT]);
/* 0, or -EINVAL: not an address / CIDR. Host bits of a CIDR are cleared. The mapped form is not
 * read: each address has one name. */
int address_parse(const char *text, struct address *address);
int cidr_parse(const char *text, struct cidr *cidr);

#endif
