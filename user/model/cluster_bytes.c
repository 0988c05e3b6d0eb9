// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_bytes.h"

#include <string.h>

#define COPIES 2
/* what a compile takes for a string in its tables of strings, measured: 190 bytes */
#define TEXT_BYTES (190 / COPIES)

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 + TEXT_BYTES : 0;
}

static size_t labels_bytes(const struct labels *labels)
{
	size_t n = labels->n * sizeof(*labels->at);

	for (size_t i = 0; i < labels->n; i++)
		n += text_bytes(labels->at[i].key) + text_bytes(labels->at[i].value);
	return n;
}

static size_t texts_bytes(const char *const *texts, size_t n_texts)
{
	size_t n = n_texts * sizeof(*texts);

	for (size_t i = 0; i < n_texts; i++)
		n += text_bytes(texts[i]);
	return n;
}

static size_t selector_bytes(const struct selector *selector)
{
	size_t n = selector->n * sizeof(*selector->at);

	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *at = &selector->at[i];

		n += text_bytes(at->key) + texts_bytes(at->values, at->n_values);
	}
	return n;
}

static size_t rule_bytes(const struct rule *rule)
{
	size_t n = sizeof(*rule) + rule->n_peers * sizeof(*rule->peers) +
		   rule->n_ports * sizeof(*rule->ports);

	for (size_t i = 0; i < rule->n_peers; i++) {
		const struct peer *peer = &rule->peers[i];

		n += selector_bytes(&peer->namespaces) + selector_bytes(&peer->pods) +
		     selector_bytes(&peer->nodes) + texts_bytes(peer->keys, peer->n_keys) +
		     peer->n_except * sizeof(*peer->except);
	}
	for (size_t i = 0; i < rule->n_ports; i++)
		n += text_bytes(rule->ports[i].name);
	return n;
}

size_t policy_bytes(const struct policy_object *policy)
{
	size_t n = sizeof(*policy) + text_bytes(policy->name) + selector_bytes(&policy->pods) +
		   selector_bytes(&policy->namespaces);

	for (int direction = INGRESS; direction <= EGRESS; direction++)
		for (size_t i = 0; i < policy->n_rules[direction]; i++)
			n += rule_bytes(&policy->rules[direction][i]);
	return n * COPIES;
}

size_t service_bytes(const struct service *service)
{
	size_t n = sizeof(*service) + text_bytes(service->name) +
		   selector_bytes(&service->selector) +
		   (service->n_addresses + service->n_external) * sizeof(struct address) +
		   service->n_ports * sizeof(*service->ports);

	for (size_t i = 0; i < service->n_ports; i++)
		n += text_bytes(service->ports[i].name) + text_bytes(service->ports[i].target_name);
	return n * COPIES;
}

size_t slice_bytes(const struct slice *slice)
{
	size_t n = sizeof(*slice) + text_bytes(slice->name) +
		   slice->n_ports * sizeof(*slice->ports) +
		   slice->n_endpoints * sizeof(*slice->endpoints);

	for (size_t i = 0; i < slice->n_ports; i++)
		n += text_bytes(slice->ports[i].name);
	for (size_t i = 0; i < slice->n_endpoints; i++)
		n += text_bytes(slice->endpoints[i].node) +
		     slice->endpoints[i].n_addresses * sizeof(struct address);
	return n * COPIES;
}

size_t pod_bytes(const struct endpoint *pod)
{
	size_t n = sizeof(*pod) + text_bytes(pod->name) + labels_bytes(&pod->labels) +
		   pod->n_ports * sizeof(*pod->ports);

	for (size_t i = 0; i < pod->n_ports; i++)
		n += text_bytes(pod->ports[i].name);
	return n * COPIES;
}
