// SPDX-License-Identifier: GPL-2.0-only
#include "compile/distinct_rules.h"

#include "compile/compiler.h"

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

static void put_rule(bytes_t *bytes, const struct rule *rule)
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

struct rule *distinct_rules(const struct rule *rules, size_t *n)
{
	struct rule *distinct = NULL;
	struct intern seen = {0};
	bytes_t bytes = {0};
	bool fresh;

	for (size_t i = 0; *n > 1 && i < *n; i++) {
		bytes.n = 0;
		put_rule(&bytes, &rules[i]);
		intern_add(&seen, bytes.at, bytes.n, &fresh);
		if (!fresh && !distinct) {
			distinct = grow_zeroed(*n, sizeof(*distinct));
			memcpy(distinct, rules, i * sizeof(*distinct));
		}
		if (fresh && distinct)
			distinct[seen.entries.n - 1] = rules[i];
	}
	if (distinct)
		*n = seen.entries.n;
	intern_free(&seen);
	array_free(&bytes);
	return distinct;
}
