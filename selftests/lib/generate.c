// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/generator.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const values[] = {"x", "y", "z", ""};
static const uint16_t port_numbers[] = {1, 53, 79, 80, 81, 443, 8080, 8081, 65534, 65535};
static const int32_t priorities[] = {0, 1, 5, 5, 10, 1000};
static const char *const policy_names[] = {"one", "two", "three", "a", "b"};
static const char *const rule_names[] = {"first", "let-in", "tab\there", "back\\slash",
					 "two words"};

/* Endpoints and nodes share one small network, so that prefixes cut through both. */
#define N_NODES 3

static struct labels make_labels(struct generator *g)
{
	struct labels labels = {allocate(g, COUNT(keys), sizeof(*labels.at)), 0};

	for (size_t i = 0; i < COUNT(keys); i++)
		if (chance(g, 65))
			labels.at[labels.n++] = (struct label){intern(g, keys[i]),
							       intern(g, PICK(&g->random, values))};
	return labels;
}

static struct requirement make_requirement(struct generator *g, bool of_namespace)
{
	struct requirement requirement = {.op = below(g, 4)};
	bool by_name = of_namespace && chance(g, 30);
	size_t n;

	requirement.key =
		intern(g, by_name ? "kubernetes.io/metadata.name" : PICK(&g->random, keys));
	if (requirement.op == SELECTOR_EXISTS || requirement.op == SELECTOR_DOES_NOT_EXIST)
		return requirement;
	n = 1 + below(g, 3);
	requirement.values = allocate(g, n, sizeof(*requirement.values));
	requirement.n_values = n;
	for (size_t i = 0; i < n; i++)
		requirement.values[i] = intern(g, by_name ? PICK(&g->random, namespace_names)
							  : PICK(&g->random, values));
	return requirement;
}

static struct selector make_selector(struct generator *g, bool of_namespace)
{
	struct selector selector = {0};

	if (chance(g, 40))
		return selector;
	selector.n = 1 + chance(g, 25) + chance(g, 10);
	selector.at = allocate(g, selector.n, sizeof(*selector.at));
	for (size_t i = 0; i < selector.n; i++)
		selector.at[i] = make_requirement(g, of_namespace);
	return selector;
}

static void clear_host_bits(struct cidr *cidr)
{
	for (int bit = cidr->length; bit < 128; bit++)
		cidr->address.bytes[bit / 8] &= ~(0x80 >> bit % 8);
}

static struct cidr make_cidr(struct generator *g)
{
	static const uint8_t v4[] = {0, 1, 8, 23, 24, 28, 29, 30, 31, 32};
	static const uint8_t v6[] = {0, 1, 8, 64, 112, 120, 124, 126, 127, 128};
	bool ipv4 = chance(g, 65);
	struct cidr cidr = {make_address(ipv4, below(g, 3), below(g, 24)),
			    ipv4 ? 96 + PICK(&g->random, v4) : PICK(&g->random, v6)};

	clear_host_bits(&cidr);
	return cidr;
}

/* Makes a strict part of @outer that contains another of the addresses in use. */
static struct cidr make_except(struct generator *g, const struct cidr *outer)
{
	struct address other = make_address(outer->length >= 96, below(g, 3), below(g, 24));
	struct cidr cidr = *outer;

	cidr.length += 1 + below(g, 128 - outer->length);
	for (uint32_t bit = outer->length; bit < cidr.length; bit++)
		cidr.address.bytes[bit / 8] |= other.bytes[bit / 8] & 0x80 >> bit % 8;
	return cidr;
}

static void make_cidr_peer(struct generator *g, struct peer *peer, bool with_except)
{
	peer->scope = PEER_CIDR;
	peer->cidr = make_cidr(g);
	if (!with_except || peer->cidr.length > 124 || chance(g, 50))
		return;
	peer->n_except = 1 + below(g, 2);
	peer->except = allocate(g, peer->n_except, sizeof(*peer->except));
	for (size_t i = 0; i < peer->n_except; i++)
		peer->except[i] = make_except(g, &peer->cidr);
}

static void make_keys(struct generator *g, struct peer *peer)
{
	peer->n_keys = below(g, 5) ? 1 + below(g, 2) : 0;
	peer->keys = allocate(g, peer->n_keys, sizeof(*peer->keys));
	for (size_t i = 0, first = below(g, COUNT(keys)); i < peer->n_keys; i++)
		peer->keys[i] = intern(g, keys[(first + i) % COUNT(keys)]);
}

static void make_namespaced_peer(struct generator *g, const struct policy_object *policy,
				 struct peer *peer)
{
	if (policy->kind == POLICY_NETWORK && chance(g, 35)) {
		make_cidr_peer(g, peer, true);
		return;
	}
	if (chance(g, 50)) {
		peer->scope = PEER_NAMESPACE;
		peer->pods = make_selector(g, false);
		return;
	}
	peer->scope = PEER_NAMESPACES;
	peer->namespaces = make_selector(g, true);
	/* The v1beta1 proposal has no peer with both selectors. */
	if (policy->kind == POLICY_NETWORK && chance(g, 50))
		peer->pods = make_selector(g, false);
}

static void make_cluster_peer(struct generator *g, const struct policy_object *policy,
			      enum direction direction, struct peer *peer)
{
	static const enum peer_scope scopes[] = {
		PEER_NAMESPACES, PEER_NAMESPACES,  PEER_SELF,
		PEER_NOT_SELF,	 PEER_SAME_LABELS, PEER_NOT_SAME_LABELS,
	};

	if (direction == EGRESS && chance(g, 40)) {
		if (chance(g, 60)) {
			make_cidr_peer(g, peer, false);
			return;
		}
		peer->scope = PEER_NODES;
		peer->nodes = make_selector(g, false);
		return;
	}
	/* ClusterNetworkPolicy has no relations between namespaces. */
	peer->scope = policy->kind == POLICY_CLUSTER ? PEER_NAMESPACES : PICK(&g->random, scopes);
	if (peer->scope == PEER_NAMESPACES)
		peer->namespaces = make_selector(g, true);
	if (peer->scope == PEER_SAME_LABELS || peer->scope == PEER_NOT_SAME_LABELS)
		make_keys(g, peer);
	if (chance(g, 40))
		peer->pods = make_selector(g, false);
}

static void make_port(struct generator *g, const struct policy_object *policy, bool names,
		      struct port *port)
{
	bool namespaced = policy->tier == TIER_NETWORK_POLICY;
	uint16_t other;

	port->protocol = PICK(&g->random, protocols);
	if (policy->kind == POLICY_NETWORK_V1BETA1 && port->protocol == IPPROTO_SCTP)
		port->protocol = IPPROTO_UDP;
	if (names && chance(g, 35)) {
		port->kind = PORT_NAME;
		port->name = intern(g, PICK(&g->random, port_names));
		if (!namespaced)
			port->protocol = 0;
		return;
	}
	if (namespaced && chance(g, 15)) {
		port->kind = PORT_PROTOCOL;
		return;
	}
	port->kind = PORT_RANGE;
	port->first = port->last = PICK(&g->random, port_numbers);
	other = PICK(&g->random, port_numbers);
	if (policy->kind != POLICY_NETWORK_V1BETA1 && other > port->first && chance(g, 50))
		port->last = other;
}

static bool names_allowed(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (rule->peers[i].scope == PEER_NODES || rule->peers[i].scope == PEER_CIDR)
			return false;
	return true;
}

static void make_ports(struct generator *g, const struct policy_object *policy, struct rule *rule)
{
	bool namespaced = policy->tier == TIER_NETWORK_POLICY;

	rule->any_port = chance(g, 35);
	if (rule->any_port)
		return;
	rule->n_ports = 1 + below(g, 3);
	/* "If this field is empty, this rule matches no ports": v1beta1 only. */
	if (policy->kind == POLICY_NETWORK_V1BETA1 && chance(g, 15))
		rule->n_ports = 0;
	rule->ports = allocate(g, rule->n_ports, sizeof(*rule->ports));
	for (size_t i = 0; i < rule->n_ports; i++)
		make_port(g, policy, namespaced || names_allowed(rule), &rule->ports[i]);
}

static void make_rule(struct generator *g, const struct policy_object *policy,
		      enum direction direction, struct rule *rule)
{
	bool namespaced = policy->tier == TIER_NETWORK_POLICY;
	bool pass = policy->kind == POLICY_ADMIN || policy->kind == POLICY_CLUSTER;

	rule->action = namespaced ? ACTION_ALLOW : (enum action)below(g, pass ? 3 : 2);
	if (!namespaced && chance(g, 30))
		rule->name = intern(g, PICK(&g->random, rule_names));
	rule->unknown = !namespaced && chance(g, 3);
	rule->any_peer = namespaced && chance(g, 20);
	if (!rule->any_peer) {
		rule->n_peers = 1 + below(g, 3);
		if (policy->kind == POLICY_NETWORK_V1BETA1 && chance(g, 15))
			rule->n_peers = 0;
		rule->peers = allocate(g, rule->n_peers, sizeof(*rule->peers));
	}
	for (size_t i = 0; i < rule->n_peers; i++)
		if (namespaced)
			make_namespaced_peer(g, policy, &rule->peers[i]);
		else
			make_cluster_peer(g, policy, direction, &rule->peers[i]);
	make_ports(g, policy, rule);
}

static void make_rules(struct generator *g, struct policy_object *policy, enum direction direction)
{
	size_t n = below(g, 5);

	policy->n_rules[direction] = n;
	policy->rules[direction] = allocate(g, n, sizeof(*policy->rules[direction]));
	for (size_t i = 0; i < n; i++) {
		policy->rules[direction][i].index = i;
		make_rule(g, policy, direction, &policy->rules[direction][i]);
	}
}

/* Returns true if a policy of that kind, namespace and name already exists. */
static bool name_taken(const struct cluster *cluster, const struct policy_object *policy)
{
	for (size_t i = 0; i + 1 < cluster->n_policies; i++) {
		const struct policy_object *other = &cluster->policies[i];

		if (other->kind == policy->kind && other->ns_name == policy->ns_name &&
		    other->name == policy->name)
			return true;
	}
	return false;
}

static struct policy_object *make_policy(struct generator *g, enum policy_kind kind, enum tier tier)
{
	struct policy_object *policy = cluster_add_policy(g->cluster);

	policy->kind = kind;
	policy->tier = tier;
	do {
		if (tier == TIER_NETWORK_POLICY)
			policy->ns_name = intern(g, PICK(&g->random, namespace_names));
		policy->name = intern(g, PICK(&g->random, policy_names));
	} while (name_taken(g->cluster, policy));
	policy->pods = make_selector(g, false);
	if (tier != TIER_NETWORK_POLICY) {
		policy->namespaces = make_selector(g, true);
		if (chance(g, 50))
			policy->pods.n = 0;
	}
	return policy;
}

static void make_network_policy(struct generator *g)
{
	struct policy_object *policy = make_policy(g, POLICY_NETWORK, TIER_NETWORK_POLICY);

	policy->applies[INGRESS] = chance(g, 70);
	policy->applies[EGRESS] = !policy->applies[INGRESS] || chance(g, 40);
	memcpy(policy->isolates, policy->applies, sizeof(policy->isolates));
	make_rules(g, policy, INGRESS);
	make_rules(g, policy, EGRESS);
}

static void make_v1beta1_policy(struct generator *g)
{
	struct policy_object *policy = make_policy(g, POLICY_NETWORK_V1BETA1, TIER_NETWORK_POLICY);

	policy->applies[INGRESS] = true;
	make_rules(g, policy, INGRESS);
}

static void make_cluster_policy(struct generator *g, enum policy_kind kind, enum tier tier)
{
	struct policy_object *policy = make_policy(g, kind, tier);

	if (kind != POLICY_BASELINE_ADMIN)
		policy->priority = PICK(&g->random, priorities);
	policy->applies[INGRESS] = policy->applies[EGRESS] = true;
	make_rules(g, policy, INGRESS);
	make_rules(g, policy, EGRESS);
}

static void make_policies(struct generator *g)
{
	/* Some clusters lack a tier, so that the lower tiers decide. */
	if (chance(g, 80))
		for (uint32_t n = below(g, 7); n; n--)
			make_network_policy(g);
	if (chance(g, 25))
		for (uint32_t n = 1 + below(g, 3); n; n--)
			make_v1beta1_policy(g);
	if (chance(g, 70))
		for (uint32_t n = below(g, 5); n; n--)
			make_cluster_policy(g, POLICY_ADMIN, TIER_ADMIN);
	if (chance(g, 40))
		for (uint32_t n = 1 + below(g, 3); n; n--)
			make_cluster_policy(g, POLICY_CLUSTER,
					    chance(g, 50) ? TIER_ADMIN : TIER_BASELINE);
	if (chance(g, 60))
		make_cluster_policy(g, POLICY_BASELINE_ADMIN, TIER_BASELINE);
}

static void make_nodes(struct generator *g)
{
	for (uint32_t i = 0, n = below(g, N_NODES + 1); i < n; i++) {
		struct node *node = cluster_add_node(g->cluster);

		node->name = intern(g, (const char *[]){"node-0", "node-1", "node-2"}[i]);
		node->labels = make_labels(g);
		node->addresses = allocate(g, 3, sizeof(*node->addresses));
		node->addresses[node->n_addresses++] = make_address(true, 0, 12 + i);
		if (chance(g, 30))
			node->addresses[node->n_addresses++] = make_address(true, 1, i);
		if (chance(g, 60))
			node->addresses[node->n_addresses++] = make_address(false, 0, 12 + i);
	}
}

static void make_named_ports(struct generator *g, struct endpoint *endpoint)
{
	endpoint->ports = allocate(g, 4, sizeof(*endpoint->ports));
	for (uint32_t n = below(g, 5); n; n--) {
		struct named_port port = {intern(g, PICK(&g->random, port_names)),
					  PICK(&g->random, protocols),
					  PICK(&g->random, port_numbers)};
		bool there = false;

		for (size_t i = 0; i < endpoint->n_ports; i++)
			there |= endpoint->ports[i].port == port.port &&
				 endpoint->ports[i].protocol == port.protocol;
		if (!there)
			endpoint->ports[endpoint->n_ports++] = port;
	}
}

static void make_endpoint(struct generator *g, uint32_t number)
{
	struct endpoint *endpoint = cluster_add_endpoint(g->cluster);
	uint32_t families = below(g, 4);
	char name[16];

	snprintf(name, sizeof(name), "pod-%u", number);
	endpoint->name = intern(g, name);
	endpoint->ns_name = intern(g, PICK(&g->random, namespace_names));
	endpoint->labels = make_labels(g);
	endpoint->addresses = allocate(g, 3, sizeof(*endpoint->addresses));
	if (families != 1)
		endpoint->addresses[endpoint->n_addresses++] = make_address(true, 0, number);
	if (families != 0)
		endpoint->addresses[endpoint->n_addresses++] = make_address(false, 0, number);
	if (chance(g, 10))
		endpoint->addresses[endpoint->n_addresses++] = make_address(true, 0, 16 + number);
	make_named_ports(g, endpoint);
	if (chance(g, 85))
		endpoint->node =
			intern(g, (const char *[]){"node-0", "node-1", "node-9"}[below(g, 3)]);
}

/* Audits some policies of some clusters, by choices of its own: the rest of the cluster is as it is
 * without. */
static void audit_policies(struct cluster *cluster, uint64_t seed)
{
	struct random random = {seed ^ 0xa0d17};

	if (!random_chance(&random, 35))
		return;
	for (size_t i = 0; i < cluster->n_policies; i++)
		cluster->policies[i].audit = random_chance(&random, 40);
}

static bool takes_names(const struct policy_object *policy, const struct rule *rule)
{
	if (policy->kind != POLICY_ADMIN && policy->kind != POLICY_CLUSTER)
		return false;
	for (size_t i = 0; i < rule->n_ports; i++)
		if (rule->ports[i].kind == PORT_NAME)
			return false;
	return rule->action == ACTION_ALLOW && !rule->unknown;
}

/* Adds a peer of domain names to the rule. */
static void add_names(struct generator *g, struct rule *rule)
{
	static const char *const names[] = {"api.example.com", "*.example.com", "example.com",
					    "*.svc.example.org", "a.b.svc.example.org"};
	struct peer *peers = allocate(g, rule->n_peers + 1, sizeof(*peers));
	size_t first = below(g, COUNT(names));
	struct peer *peer;

	for (size_t i = 0; i < rule->n_peers; i++)
		peers[i] = rule->peers[i];
	peer = &peers[rule->n_peers++];
	rule->peers = peers;
	*peer = (struct peer){.scope = PEER_DOMAINS, .n_keys = 1 + below(g, 3)};
	peer->keys = allocate(g, peer->n_keys, sizeof(*peer->keys));
	for (size_t i = 0; i < peer->n_keys; i++)
		peer->keys[i] = intern(g, names[(first + i) % COUNT(names)]);
}

/* Adds domain names to some egress rules of some clusters, by choices of its own. */
static void name_rules(struct cluster *cluster, uint64_t seed)
{
	struct generator g = {.random = {seed ^ 0xd0a1}, .cluster = cluster};

	if (!chance(&g, 50))
		return;
	for (size_t i = 0; i < cluster->n_policies; i++) {
		struct policy_object *policy = &cluster->policies[i];

		for (size_t k = 0; k < policy->n_rules[EGRESS]; k++)
			if (takes_names(policy, &policy->rules[EGRESS][k]) && chance(&g, 70))
				add_names(&g, &policy->rules[EGRESS][k]);
	}
}

void generate_cluster(struct cluster *cluster, uint64_t seed)
{
	struct generator g = {.random = {seed}, .cluster = cluster};
	uint32_t n_endpoints = 1 + below(&g, GENERATE_PODS);

	for (size_t i = 0; i < COUNT(namespace_names); i++) {
		struct namespace *ns;

		if (!chance(&g, 75))
			continue;
		ns = cluster_add_namespace(cluster);
		ns->name = intern(&g, namespace_names[i]);
		ns->labels = make_labels(&g);
		ns->declared = true;
		ns->isolated = chance(&g, 25);
	}
	make_nodes(&g);
	for (uint32_t i = 0; i < n_endpoints; i++)
		make_endpoint(&g, i);
	make_policies(&g);
	audit_policies(cluster, seed);
	name_rules(cluster, seed);
}

/* Far enough apart for the samples of two values of BULKHEAD_SEED to share no cluster. */
#define PER_SEED 10000

struct seeds generate_seeds(uint64_t full, uint64_t sample)
{
	const char *seed = getenv("SEED"), *clusters = getenv("CLUSTERS");
	const char *run = getenv("BULKHEAD_SEED");
	struct seeds seeds = {
		.first = (run ? strtoull(run, NULL, 10) : 1) * PER_SEED + 1,
		.count = getenv("BULKHEAD_FULL") ? full : sample,
	};

	if (seed)
		seeds = (struct seeds){.first = strtoull(seed, NULL, 10), .count = 1};
	if (clusters)
		seeds.count = strtoull(clusters, NULL, 10);
	printf("# from SEED=%" PRIu64 " on, CLUSTERS=%" PRIu64 "\n", seeds.first, seeds.count);
	return seeds;
}
