/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "policy/lazy_policy.h"

/* Bytes of a string that are read at a time. Most strings are shorter. */
#define STRING_STEP 64

const char *lazy_read_string(const struct lazy_policy *policy, uint32_t string)
{
	const char *at = policy->strings + string;
	size_t left = policy->n_strings - string;

	while (policy->source && left) {
		size_t step = left < STRING_STEP ? left : STRING_STEP;

		if (memchr(lazy_read(policy, at, step), '\0', step))
			break;
		at += step;
		left -= step;
	}
	return policy->strings + string;
}

const char *lazy_matcher_namespace(const struct lazy_policy *policy,
				   const struct policy_matcher *matcher)
{
	const struct policy_clause *clauses =
		LAZY_SOME(policy, clauses, matcher->clauses.at, matcher->clauses.n);
	const char *ns = "";

	for (uint32_t i = 0; i < matcher->clauses.n; i++) {
		const char *own = clauses[i].kind == CLAUSE_ENDPOINTS
					  ? lazy_read_string(policy, clauses[i].ns)
					  : "";

		if (!*own || (i && strcmp(own, ns)))
			return "";
		ns = own;
	}
	return ns;
}

struct policy_lists lazy_lists_of(const struct lazy_policy *policy,
				  const struct policy_segment *segment)
{
	const uint32_t *numbers = policy->numbers;

	return (struct policy_lists){
		.in = lazy_read(policy, numbers + segment->in.at, segment->in.n * sizeof(*numbers)),
		.not_in = lazy_read(policy, numbers + segment->not_in.at,
				    segment->not_in.n * sizeof(*numbers)),
		.n_in = segment->in.n,
		.n_not_in = segment->not_in.n,
	};
}

struct lazy_name_key {
	const struct lazy_policy *policy;
	const char *name;
	uint32_t ns; /* for endpoints */
};

static int compare_namespace(const void *key, const void *record)
{
	const struct lazy_name_key *wanted = key;
	const struct policy_namespace *ns = lazy_read(wanted->policy, record, sizeof(*ns));

	return strcmp(wanted->name, lazy_read_string(wanted->policy, ns->name));
}

static int compare_endpoint(const void *key, const void *record)
{
	const struct lazy_name_key *wanted = key;
	const struct policy_endpoint *endpoint =
		lazy_read(wanted->policy, record, sizeof(*endpoint));

	if (wanted->ns != endpoint->ns)
		return wanted->ns < endpoint->ns ? -1 : 1;
	return strcmp(wanted->name, lazy_read_string(wanted->policy, endpoint->name));
}

struct address_key {
	const struct lazy_policy *policy;
	const struct address *address;
};

static int compare_address(const void *key, const void *record)
{
	const struct address_key *wanted = key;
	const struct policy_address *address = lazy_read(wanted->policy, record, sizeof(*address));

	return memcmp(wanted->address, &address->address, sizeof(address->address));
}

const struct policy_namespace *lazy_namespace_by_name(const struct lazy_policy *policy,
						      const char *name)
{
	struct lazy_name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->namespaces, policy->n_namespaces,
			     sizeof(*policy->namespaces), compare_namespace);
}

static int compare_node(const void *key, const void *record)
{
	const struct lazy_name_key *wanted = key;
	const struct policy_node *node = lazy_read(wanted->policy, record, sizeof(*node));

	return strcmp(wanted->name, lazy_read_string(wanted->policy, node->name));
}

const struct policy_node *lazy_node_by_name(const struct lazy_policy *policy, const char *name)
{
	struct lazy_name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->nodes, policy->n_nodes, sizeof(*policy->nodes),
			     compare_node);
}

const struct policy_endpoint *lazy_endpoint_by_name(const struct lazy_policy *policy,
						    const char *ns, const char *name)
{
	const struct policy_namespace *found = lazy_namespace_by_name(policy, ns);
	struct lazy_name_key key = {.policy = policy, .name = name};

	if (!found)
		return NULL;
	key.ns = found - policy->namespaces;
	return policy_search(&key, policy->endpoints, policy->n_endpoints,
			     sizeof(*policy->endpoints), compare_endpoint);
}

struct segment_key {
	const struct lazy_policy *policy;
	uint32_t id;
};

static int compare_segment(const void *key, const void *record)
{
	const struct segment_key *wanted = key;
	const struct policy_segment *segment = lazy_read(wanted->policy, record, sizeof(*segment));

	return wanted->id < segment->id ? -1 : wanted->id > segment->id;
}

const struct policy_segment *lazy_segment_by_id(const struct lazy_policy *policy, uint32_t id)
{
	struct segment_key key = {policy, id};

	return policy_search(&key, policy->segments, policy->n_segments, sizeof(*policy->segments),
			     compare_segment);
}

const struct policy_address *lazy_address_find(const struct lazy_policy *policy,
					       const struct address *address)
{
	struct address_key key = {policy, address};

	return policy_search(&key, policy->addresses, policy->n_addresses,
			     sizeof(*policy->addresses), compare_address);
}

const struct policy_expected *lazy_expected_by_name(const struct lazy_policy *policy,
						    const char *ns, const char *name)
{
	size_t low = 0, high = policy->n_expected;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct policy_expected *pod = LAZY_ONE(policy, expected, middle);
		int order = strcmp(ns, lazy_read_string(policy, pod->ns));

		if (!order)
			order = strcmp(name, lazy_read_string(policy, pod->name));
		if (!order)
			return pod;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void lazy_read_outside(const struct lazy_policy *policy, struct policy *outside)
{
	*outside = (struct policy){
		.strings = policy->strings,
		.n_strings = policy->n_strings,
		.segments = policy->segments,
		.prefixes = policy->prefixes,
		.n_prefixes = policy->n_prefixes,
		.nodes = policy->nodes,
		.n_nodes = policy->n_nodes,
		.node_addresses = policy->node_addresses,
		.n_node_addresses = policy->n_node_addresses,
		.frontends = policy->frontends,
		.n_frontends = policy->n_frontends,
		.service_cidrs = policy->service_cidrs,
		.n_service_cidrs = policy->n_service_cidrs,
	};
	LAZY_ALL(policy, prefixes);
	LAZY_ALL(policy, nodes);
	LAZY_ALL(policy, node_addresses);
	LAZY_ALL(policy, frontends);
	LAZY_ALL(policy, service_cidrs);
	for (size_t i = 0; i < policy->n_nodes; i++)
		lazy_read_string(policy, policy->nodes[i].name);
}
