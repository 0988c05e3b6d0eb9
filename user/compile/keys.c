// SPDX-License-Identifier: GPL-2.0-only
#include "compile/compiler.h"

#include <sodium.h>

struct policy_key bytes_key(const bytes_t *bytes)
{
	struct policy_key key;

	_Static_assert(sizeof(key) == crypto_generichash_BYTES_MIN,
		       "a key is a short BLAKE2b hash");
	crypto_generichash((unsigned char *)&key, sizeof(key), bytes->at, bytes->n, NULL, 0);
	return key;
}

void policy_name_put(bytes_t *bytes, const struct policy_object *policy)
{
	if (policy->ns_name) {
		bytes_put(bytes, policy->ns_name, strlen(policy->ns_name));
		bytes_put(bytes, "/", 1);
	}
	bytes_put(bytes, policy->name, strlen(policy->name) + 1);
}

void selector_put(bytes_t *bytes, const struct selector *selector)
{
	bytes_number(bytes, selector->n);
	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *requirement = &selector->at[i];

		bytes_string(bytes, requirement->key);
		bytes_number(bytes, requirement->op);
		bytes_number(bytes, requirement->n_values);
		for (size_t j = 0; j < requirement->n_values; j++)
			bytes_string(bytes, requirement->values[j]);
	}
}

void rule_ports_put(bytes_t *bytes, const struct rule *rule)
{
	bytes_number(bytes, rule->any_port || rule->unknown);
	/* other peers and ports do not count beside a literal {} */
	if (rule->unknown)
		return;
	bytes_number(bytes, rule->n_ports);
	for (size_t i = 0; i < rule->n_ports; i++) {
		const struct port *port = &rule->ports[i];
		const uint16_t numbers[] = {port->kind << 8 | port->protocol, port->first,
					    port->last};

		bytes_put(bytes, numbers, sizeof(numbers));
		if (port->kind == PORT_NAME)
			bytes_string(bytes, port->name);
	}
}

static void put_peer(bytes_t *bytes, const struct peer *peer)
{
	bytes_number(bytes, peer->scope);
	selector_put(bytes, &peer->namespaces);
	selector_put(bytes, &peer->pods);
	selector_put(bytes, &peer->nodes);
	bytes_number(bytes, peer->n_keys);
	for (size_t i = 0; i < peer->n_keys; i++)
		bytes_string(bytes, peer->keys[i]);
	bytes_put(bytes, &peer->cidr, sizeof(peer->cidr));
	bytes_number(bytes, peer->n_except);
	bytes_put(bytes, peer->except, peer->n_except * sizeof(*peer->except));
}

void rule_put(bytes_t *bytes, const struct rule *rule)
{
	bytes_string(bytes, rule->name);
	bytes_number(bytes, rule->action);
	bytes_number(bytes, rule->unknown);
	bytes_number(bytes, rule->any_peer);
	bytes_number(bytes, rule->n_peers);
	for (size_t i = 0; i < rule->n_peers; i++)
		put_peer(bytes, &rule->peers[i]);
	rule_ports_put(bytes, rule);
}
