// SPDX-License-Identifier: GPL-2.0-only
/* The cluster's policies → the tables of policies as they were given. */
#include "compile/tables.h"

static struct policy_range put_keys(struct tables *t, const struct peer *peer)
{
	struct policy_range range = {t->policy->n_texts, peer->n_keys};

	for (size_t i = 0; i < peer->n_keys; i++)
		table_push(t, texts, tables_string(t, peer->keys[i]));
	return range;
}

static struct policy_range put_peers(struct tables *t, const struct rule *rule)
{
	struct policy_range range = {t->policy->n_given_peers, rule->n_peers};

	for (size_t i = 0; i < rule->n_peers; i++) {
		const struct peer *peer = &rule->peers[i];
		struct policy_given_peer record = {
			.scope = peer->scope,
			.length = peer->cidr.length,
			.address = peer->cidr.address,
			.namespaces = tables_selector(t, &peer->namespaces),
			.pods = tables_selector(t, &peer->pods),
			.nodes = tables_selector(t, &peer->nodes),
			.keys = put_keys(t, peer),
			.except = tables_cidrs(t, peer->except, peer->n_except)};

		table_push(t, given_peers, record);
	}
	return range;
}

static struct policy_range put_ports(struct tables *t, const struct rule *rule)
{
	struct policy_range range = {t->policy->n_given_ports, rule->n_ports};

	for (size_t i = 0; i < rule->n_ports; i++) {
		const struct port *port = &rule->ports[i];

		table_push(t, given_ports,
			   ((struct policy_given_port){.name = tables_string(t, port->name),
						       .first = port->first,
						       .last = port->last,
						       .kind = port->kind,
						       .protocol = port->protocol}));
	}
	return range;
}

static struct policy_range put_rules(struct tables *t, const struct policy_object *policy,
				     enum direction direction)
{
	struct policy_range range = {t->policy->n_given_rules, policy->n_rules[direction]};

	for (size_t i = 0; i < policy->n_rules[direction]; i++) {
		const struct rule *rule = &policy->rules[direction][i];
		struct policy_given_rule record = {.name = tables_string(t, rule->name),
						   .index = rule->index,
						   .action = rule->action,
						   .flags = (rule->name ? GIVEN_NAMED : 0) |
							    (rule->unknown ? GIVEN_UNKNOWN : 0) |
							    (rule->any_peer ? GIVEN_ANY_PEER : 0) |
							    (rule->any_port ? GIVEN_ANY_PORT : 0),
						   .peers = put_peers(t, rule),
						   .ports = put_ports(t, rule)};

		table_push(t, given_rules, record);
	}
	return range;
}

static uint8_t both(const bool is[2])
{
	return is[INGRESS] << INGRESS | is[EGRESS] << EGRESS;
}

void given_put(struct tables *t)
{
	const struct cluster *cluster = t->c->cluster;

	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *policy = &cluster->policies[i];
		struct policy_given record = {
			.ns = tables_string(t, policy->ns_name),
			.name = tables_string(t, policy->name),
			.kind = policy->kind,
			.tier = policy->tier,
			.applies = both(policy->applies),
			.isolates = both(policy->isolates),
			.priority = policy->priority,
			.flags = policy->audit ? POLICY_AUDIT : 0,
			.namespaces = tables_selector(t, &policy->namespaces),
			.pods = tables_selector(t, &policy->pods),
			.rules = {put_rules(t, policy, INGRESS), put_rules(t, policy, EGRESS)}};

		table_push(t, given, record);
	}
}
