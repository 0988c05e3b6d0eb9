// SPDX-License-Identifier: GPL-2.0-only
#include "policy/given.h"

#include <string.h>

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct given_reading {
	const struct lazy_policy *policy;
	struct cluster *cluster;
};

static void *allocate(const struct given_reading *r, size_t n, size_t size)
{
	void *memory = obstack_alloc(&r->cluster->memory, (n + 1) * size);

	memset(memory, 0, (n + 1) * size);
	return memory;
}

const char *given_string(const struct lazy_policy *policy, struct cluster *cluster, uint32_t string)
{
	const char *text = lazy_read_string(policy, string);

	return cluster_intern(cluster, text, strlen(text));
}

static const char *text_at(const struct given_reading *r, uint32_t at)
{
	const uint32_t *string = LAZY_ONE(r->policy, texts, at);

	return given_string(r->policy, r->cluster, *string);
}

static void fill_labels(const struct given_reading *r, struct policy_range range,
			struct labels *labels)
{
	labels->n = range.n / 2;
	labels->at = allocate(r, labels->n, sizeof(*labels->at));
	for (size_t i = 0; i < labels->n; i++)
		labels->at[i] = (struct label){text_at(r, range.at + 2 * i),
					       text_at(r, range.at + 2 * i + 1)};
}

static const char **read_texts(const struct given_reading *r, struct policy_range range)
{
	const char **texts = allocate(r, range.n, sizeof(*texts));

	for (uint32_t i = 0; i < range.n; i++)
		texts[i] = text_at(r, range.at + i);
	return texts;
}

static struct selector read_selector(const struct given_reading *r, struct policy_range range)
{
	const struct policy_requirement *records =
		LAZY_SOME(r->policy, requirements, range.at, range.n);
	struct requirement *at = allocate(r, range.n, sizeof(*at));

	for (uint32_t i = 0; i < range.n; i++)
		at[i] = (struct requirement){
			.key = given_string(r->policy, r->cluster, records[i].key),
			.op = records[i].op,
			.values = read_texts(r, records[i].values),
			.n_values = records[i].values.n};
	return (struct selector){at, range.n};
}

static struct cidr *read_cidrs(const struct given_reading *r, struct policy_range range)
{
	const struct policy_cidr *records = LAZY_SOME(r->policy, cidrs, range.at, range.n);
	struct cidr *cidrs = allocate(r, range.n, sizeof(*cidrs));

	for (uint32_t i = 0; i < range.n; i++)
		cidrs[i] = (struct cidr){records[i].address, records[i].length};
	return cidrs;
}

static struct peer *read_peers(const struct given_reading *r, struct policy_range range)
{
	const struct policy_given_peer *records =
		LAZY_SOME(r->policy, given_peers, range.at, range.n);
	struct peer *peers = allocate(r, range.n, sizeof(*peers));

	for (uint32_t i = 0; i < range.n; i++)
		peers[i] = (struct peer){.scope = records[i].scope,
					 .namespaces = read_selector(r, records[i].namespaces),
					 .pods = read_selector(r, records[i].pods),
					 .nodes = read_selector(r, records[i].nodes),
					 .keys = read_texts(r, records[i].keys),
					 .n_keys = records[i].keys.n,
					 .cidr = {records[i].address, records[i].length},
					 .except = read_cidrs(r, records[i].except),
					 .n_except = records[i].except.n};
	return peers;
}

static struct port *read_ports(const struct given_reading *r, struct policy_range range)
{
	const struct policy_given_port *records =
		LAZY_SOME(r->policy, given_ports, range.at, range.n);
	struct port *ports = allocate(r, range.n, sizeof(*ports));

	for (uint32_t i = 0; i < range.n; i++) {
		ports[i] = (struct port){.kind = records[i].kind,
					 .protocol = records[i].protocol,
					 .first = records[i].first,
					 .last = records[i].last};
		if (records[i].name)
			ports[i].name = given_string(r->policy, r->cluster, records[i].name);
	}
	return ports;
}

static struct rule *read_rules(const struct given_reading *r, struct policy_range range)
{
	const struct policy_given_rule *records =
		LAZY_SOME(r->policy, given_rules, range.at, range.n);
	struct rule *rules = allocate(r, range.n, sizeof(*rules));

	for (uint32_t i = 0; i < range.n; i++) {
		const struct policy_given_rule *record = &records[i];

		rules[i] = (struct rule){.index = record->index,
					 .action = record->action,
					 .unknown = record->flags & GIVEN_UNKNOWN,
					 .any_peer = record->flags & GIVEN_ANY_PEER,
					 .any_port = record->flags & GIVEN_ANY_PORT,
					 .peers = read_peers(r, record->peers),
					 .n_peers = record->peers.n,
					 .ports = read_ports(r, record->ports),
					 .n_ports = record->ports.n};
		if (record->flags & GIVEN_NAMED)
			rules[i].name = given_string(r->policy, r->cluster, record->name);
	}
	return rules;
}

static void fill_policy(const struct given_reading *r, const struct policy_given *record)
{
	struct policy_object *object = cluster_add_policy(r->cluster);

	*object = (struct policy_object){.kind = record->kind,
					 .tier = record->tier,
					 .priority = record->priority,
					 .audit = record->flags & POLICY_AUDIT,
					 .name = given_string(r->policy, r->cluster, record->name),
					 .namespaces = read_selector(r, record->namespaces),
					 .pods = read_selector(r, record->pods)};
	if (record->ns)
		object->ns_name = given_string(r->policy, r->cluster, record->ns);
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		object->applies[direction] = record->applies & 1 << direction;
		object->isolates[direction] = record->isolates & 1 << direction;
		object->rules[direction] = read_rules(r, record->rules[direction]);
		object->n_rules[direction] = record->rules[direction].n;
	}
}

static void fill_namespace(const struct given_reading *r, const struct policy_namespace *record)
{
	struct namespace *ns = cluster_add_namespace(r->cluster);

	ns->name = given_string(r->policy, r->cluster, record->name);
	ns->declared = true;
	ns->isolated = record->flags & POLICY_ISOLATED;
	ns->audit = record->flags & POLICY_AUDIT;
	fill_labels(r, record->labels, &ns->labels);
}

static void fill_node(const struct given_reading *r, const struct policy_node *record)
{
	struct node *node = cluster_add_node(r->cluster);

	node->name = given_string(r->policy, r->cluster, record->name);
	fill_labels(r, record->labels, &node->labels);
	node->addresses = allocate(r, record->addresses.n, sizeof(*node->addresses));
	node->n_addresses = record->addresses.n;
	/* a policy without such addresses has no table of them */
	if (record->addresses.n)
		memcpy(node->addresses,
		       LAZY_SOME(r->policy, node_addresses, record->addresses.at,
				 record->addresses.n),
		       record->addresses.n * sizeof(*node->addresses));
}

void given_fill(const struct lazy_policy *policy, struct cluster *cluster)
{
	const struct given_reading r = {policy, cluster};

	for (size_t i = 0; i < policy->n_namespaces; i++)
		fill_namespace(&r, LAZY_ONE(r.policy, namespaces, i));
	for (size_t i = 0; i < policy->n_nodes; i++)
		fill_node(&r, LAZY_ONE(r.policy, nodes, i));
	for (size_t i = 0; i < policy->n_given; i++)
		fill_policy(&r, LAZY_ONE(r.policy, given, i));
}
