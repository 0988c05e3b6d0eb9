/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds records in a compiled policy by binary search in its sorted tables. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "compile/enroll.h"
#include "compile/policy.h"

#define TABLE_FREE(type, name) free(policy->name);

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	enroll_free(policy);
	policy_free(policy->plain);
	if (!policy->blob) {
		POLICY_TABLES(TABLE_FREE)
	}
	free(policy->blob);
	free(policy);
}

/* Bytes of a string that are read at a time. Most strings are shorter. */
#define STRING_STEP 64

const char *policy_read_string(const struct policy *policy, uint32_t string)
{
	const char *at = policy_string(policy, string);
	size_t left = policy->n_strings - string;

	while (policy->source && left) {
		size_t step = left < STRING_STEP ? left : STRING_STEP;

		if (memchr(policy_read(policy, at, step), '\0', step))
			break;
		at += step;
		left -= step;
	}
	return policy_string(policy, string);
}

const char *matcher_namespace(const struct policy *policy, const struct policy_matcher *matcher)
{
	const struct policy_clause *clauses =
		policy_read(policy, policy->clauses + matcher->clauses.at,
			    matcher->clauses.n * sizeof(*clauses));
	const char *ns = "";

	for (uint32_t i = 0; i < matcher->clauses.n; i++) {
		const char *own = clauses[i].kind == CLAUSE_ENDPOINTS
					  ? policy_read_string(policy, clauses[i].ns)
					  : "";

		if (!*own || (i && strcmp(own, ns)))
			return "";
		ns = own;
	}
	return ns;
}

struct policy_lists policy_lists_of(const struct policy *policy,
				    const struct policy_segment *segment)
{
	const uint32_t *numbers = policy->numbers;

	return (struct policy_lists){
		.in = policy_read(policy, numbers + segment->in.at,
				  segment->in.n * sizeof(*numbers)),
		.not_in = policy_read(policy, numbers + segment->not_in.at,
				      segment->not_in.n * sizeof(*numbers)),
		.n_in = segment->in.n,
		.n_not_in = segment->not_in.n,
	};
}

static int compare_numbers(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	for (uint32_t i = 0; i < n_a && i < n_b; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return n_a < n_b ? -1 : n_a > n_b;
}

int policy_compare_lists(const struct policy_lists *a, const struct policy_lists *b)
{
	int order = compare_numbers(a->in, a->n_in, b->in, b->n_in);

	return order ? order : compare_numbers(a->not_in, a->n_not_in, b->not_in, b->n_not_in);
}

struct name_key {
	const struct policy *policy;
	const char *name;
	uint32_t ns; /* for endpoints */
};

static int compare_namespace(const void *key, const void *record)
{
	const struct name_key *wanted = key;
	const struct policy_namespace *ns = policy_read(wanted->policy, record, sizeof(*ns));

	return strcmp(wanted->name, policy_read_string(wanted->policy, ns->name));
}

static int compare_host_pod(const void *key, const void *record)
{
	const struct name_key *wanted = key;
	const struct policy_host_pod *pod = record;

	return strcmp(wanted->name, policy_string(wanted->policy, pod->name));
}

const struct policy_host_pod *policy_host_pod_by_name(const struct policy *policy, const char *name)
{
	struct name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->host_pods, policy->n_host_pods,
			     sizeof(*policy->host_pods), compare_host_pod);
}

void policy_uid_hash(const char *uid, uint32_t hash[2])
{
	const uint64_t word = uid ? XXH3_64bits(uid, strlen(uid)) : 0;

	hash[0] = word;
	hash[1] = word >> 32;
}

const struct policy_expected *policy_expected_by_name(const struct policy *policy, const char *ns,
						      const char *name)
{
	size_t low = 0, high = policy->n_expected;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct policy_expected *pod =
			policy_read(policy, &policy->expected[middle], sizeof(*pod));
		int order = strcmp(ns, policy_read_string(policy, pod->ns));

		if (!order)
			order = strcmp(name, policy_read_string(policy, pod->name));
		if (!order)
			return pod;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int compare_node(const void *key, const void *record)
{
	const struct name_key *wanted = key;
	const struct policy_node *node = record;

	return strcmp(wanted->name, policy_string(wanted->policy, node->name));
}

static int compare_endpoint(const void *key, const void *record)
{
	const struct name_key *wanted = key;
	const struct policy_endpoint *endpoint =
		policy_read(wanted->policy, record, sizeof(*endpoint));

	if (wanted->ns != endpoint->ns)
		return wanted->ns < endpoint->ns ? -1 : 1;
	return strcmp(wanted->name, policy_read_string(wanted->policy, endpoint->name));
}

struct address_key {
	const struct policy *policy;
	const struct address *address;
};

static int compare_address(const void *key, const void *record)
{
	const struct address_key *wanted = key;
	const struct policy_address *address =
		policy_read(wanted->policy, record, sizeof(*address));

	return memcmp(wanted->address, &address->address, sizeof(address->address));
}

static int compare_rule(const void *key, const void *record)
{
	const uint32_t *id = key;
	const struct policy_rule *rule = record;

	return *id < rule->id ? -1 : *id > rule->id;
}

const struct policy_namespace *policy_namespace_by_name(const struct policy *policy,
							const char *name)
{
	struct name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->namespaces, policy->n_namespaces,
			     sizeof(*policy->namespaces), compare_namespace);
}

const struct policy_endpoint *policy_endpoint_by_name(const struct policy *policy, const char *ns,
						      const char *name)
{
	const struct policy_namespace *found = policy_namespace_by_name(policy, ns);
	struct name_key key = {.policy = policy, .name = name};

	if (!found)
		return NULL;
	key.ns = found - policy->namespaces;
	return policy_search(&key, policy->endpoints, policy->n_endpoints,
			     sizeof(*policy->endpoints), compare_endpoint);
}

const struct policy_node *policy_node_by_name(const struct policy *policy, const char *name)
{
	struct name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->nodes, policy->n_nodes, sizeof(*policy->nodes),
			     compare_node);
}

const struct policy_address *policy_address_find(const struct policy *policy,
						 const struct address *address)
{
	struct address_key key = {policy, address};

	return policy_search(&key, policy->addresses, policy->n_addresses,
			     sizeof(*policy->addresses), compare_address);
}

const struct policy_rule *policy_rule_by_id(const struct policy *policy, uint32_t id)
{
	if (!policy)
		return NULL;
	return policy_search(&id, policy->rules, policy->n_rules, sizeof(*policy->rules),
			     compare_rule);
}

static int compare_segment(const void *key, const void *record)
{
	const uint32_t *id = key;
	const struct policy_segment *segment = record;

	return *id < segment->id ? -1 : *id > segment->id;
}

const struct policy_segment *policy_segment_by_id(const struct policy *policy, uint32_t id)
{
	return policy_search(&id, policy->segments, policy->n_segments, sizeof(*policy->segments),
			     compare_segment);
}

static unsigned int common_bits(const struct address *a, const struct address *b)
{
	for (unsigned int i = 0; i < sizeof(a->bytes); i++) {
		uint8_t difference = a->bytes[i] ^ b->bytes[i];

		if (difference)
			return 8 * i + __builtin_clz(difference) - 24;
	}
	return 128;
}

struct address address_mask(const struct address *address, unsigned int length)
{
	struct address masked = *address;

	for (unsigned int i = 0; i < sizeof(masked.bytes); i++) {
		unsigned int bits = length > 8 * i ? length - 8 * i : 0;

		if (bits < 8)
			masked.bytes[i] &= (uint8_t)(0xff00 >> bits);
	}
	return masked;
}

/* Returns the last prefix that is not above (@address, @length). There always is one: ::/0 is
 * the first. */
static const struct policy_prefix *last_prefix(const struct policy *policy,
					       const struct address *address, unsigned int length)
{
	size_t low = 0, high = policy->n_prefixes;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		const struct policy_prefix *prefix = &policy->prefixes[middle];
		int order = memcmp(&prefix->address, address, sizeof(*address));

		if (order < 0 || (!order && prefix->length <= length))
			low = middle;
		else
			high = middle;
	}
	return &policy->prefixes[low];
}

const struct policy_segment *policy_prefix_around(const struct policy *policy,
						  const struct address *address,
						  unsigned int length)
{
	struct address key = address_mask(address, length);

	/*
	 * A prefix that contains @address and is not the entry found contains that entry too. So
	 * it is no longer than the bits that both share. Each round looks for fewer bits; ::/0
	 * ends the loop.
	 */
	for (;;) {
		const struct policy_prefix *found = last_prefix(policy, &key, length);
		unsigned int shared = common_bits(&found->address, address);

		if (shared >= found->length)
			return &policy->segments[found->segment];
		length = shared;
		key = address_mask(address, length);
	}
}

const struct policy_segment *policy_prefix_find(const struct policy *policy,
						const struct address *address)
{
	return policy_prefix_around(policy, address, 128);
}
