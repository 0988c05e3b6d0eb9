// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "policy/expected.h"
#include "policy/given.h"

static const char *label_text(const struct lazy_policy *policy, struct cluster *cluster,
			      uint32_t at)
{
	return given_string(policy, cluster, *LAZY_ONE(policy, texts, at));
}

static void fill_labels(const struct lazy_policy *policy, struct cluster *cluster,
			struct policy_range range, struct labels *labels)
{
	labels->n = range.n / 2;
	labels->at = obstack_alloc(&cluster->memory, (labels->n + 1) * sizeof(*labels->at));
	for (size_t i = 0; i < labels->n; i++)
		labels->at[i] = (struct label){label_text(policy, cluster, range.at + 2 * i),
					       label_text(policy, cluster, range.at + 2 * i + 1)};
}

static void fill_ports(const struct lazy_policy *policy, struct cluster *cluster,
		       struct policy_range range, struct endpoint *endpoint)
{
	endpoint->n_ports = range.n;
	endpoint->ports = obstack_alloc(&cluster->memory, (range.n + 1) * sizeof(*endpoint->ports));
	for (uint32_t i = 0; i < range.n; i++) {
		const struct policy_named_port *port = LAZY_ONE(policy, named_ports, range.at + i);

		endpoint->ports[i] = (struct named_port){given_string(policy, cluster, port->name),
							 port->protocol, port->port};
	}
}

static void fill_sources(const struct lazy_policy *policy, struct cluster *cluster,
			 struct policy_range range, struct endpoint *endpoint)
{
	endpoint->n_allow_source = range.n;
	endpoint->allow_source =
		obstack_alloc(&cluster->memory, (range.n + 1) * sizeof(*endpoint->allow_source));
	for (uint32_t i = 0; i < range.n; i++) {
		const struct policy_cidr *cidr = LAZY_ONE(policy, cidrs, range.at + i);

		endpoint->allow_source[i] = (struct cidr){cidr->address, cidr->length};
	}
}

static bool fill(const struct lazy_policy *policy, struct cluster *cluster, const char *name,
		 struct endpoint *endpoint)
{
	const struct policy_expected *pod = lazy_expected_by_name(policy, endpoint->ns_name, name);

	if (!pod || (pod->uid && endpoint->uid &&
		     strcmp(lazy_read_string(policy, pod->uid), endpoint->uid)))
		return false;
	fill_labels(policy, cluster, pod->labels, &endpoint->labels);
	fill_ports(policy, cluster, pod->ports, endpoint);
	fill_sources(policy, cluster, pod->allow_source, endpoint);
	endpoint->audit |= pod->flags & POLICY_AUDIT;
	endpoint->unknown = false;
	return true;
}

static bool has_pod(const struct lazy_policy *policy, const struct endpoint *endpoint,
		    const char *name)
{
	const struct policy_endpoint *known =
		lazy_endpoint_by_name(policy, endpoint->ns_name, name);
	uint32_t uid[2];

	policy_uid_hash(endpoint->uid, uid);
	return known && (!(known->uid[0] | known->uid[1]) || !endpoint->uid ||
			 !memcmp(known->uid, uid, sizeof(uid)));
}

bool expected_find(const struct lazy_policy *policy, struct cluster *cluster,
		   struct endpoint *endpoint)
{
	const char *name = cluster_intern(cluster, endpoint->name, strcspn(endpoint->name, ":"));

	if (!endpoint->unknown || !endpoint->attachment || endpoint->rests)
		return false;
	if (fill(policy, cluster, name, endpoint))
		return true;
	endpoint->as_policy = has_pod(policy, endpoint, name) ? name : NULL;
	return endpoint->as_policy;
}
