/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds records in a compiled policy by binary search in its sorted tables. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "policy/asides.h"
#include "model/grow.h"
#include "policy/lazy_policy.h"

#define TABLE_FREE(type, name, moves) free(policy->name);

#define TABLE_FREE_OWN(type, name, moves)   \
	if (policy->name != compiled->name) \
		free(policy->name);

void overlay_free(struct policy *policy)
{
	struct policy *compiled = policy->compiled;

	if (!compiled)
		return;
	POLICY_TABLES(TABLE_FREE_OWN)
	*policy = *compiled;
	free(compiled);
}

const struct policy *overlay_compiled(const struct policy *policy)
{
	return policy_plain(policy->compiled ? policy->compiled : policy);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	overlay_free(policy);
	asides_free(policy->asides);
	lazy_policy_free(policy->plain);
	if (!policy->blob) {
		POLICY_TABLES(TABLE_FREE)
	}
	free(policy->blob);
	free(policy);
}

uint32_t policy_find_string(const char *strings, size_t n, const char *string)
{
	const size_t size = strlen(string) + 1;
	/* each string but the first, which is empty, is behind a NUL */
	char *between = grow_zeroed(size + 1, 1);
	const char *found;

	memcpy(between + 1, string, size);
	found = memmem(strings, n, between, size + 1);
	free(between);
	return found ? found + 1 - strings : 0;
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
};

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

static int compare_node(const void *key, const void *record)
{
	const struct name_key *wanted = key;
	const struct policy_node *node = record;

	return strcmp(wanted->name, policy_string(wanted->policy, node->name));
}

static int compare_rule(const void *key, const void *record)
{
	const uint32_t *id = key;
	const struct policy_rule *rule = record;

	return *id < rule->id ? -1 : *id > rule->id;
}

const struct policy_node *policy_node_by_name(const struct policy *policy, const char *name)
{
	struct name_key key = {.policy = policy, .name = name};

	return policy_search(&key, policy->nodes, policy->n_nodes, sizeof(*policy->nodes),
			     compare_node);
}

bool policy_knows_node(const struct policy *policy, const char *name)
{
	bool any = policy->n_nodes;

	if (policy_node_by_name(policy, name))
		return true;
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const char *node = policy_string(policy, policy->endpoints[i].node);

		if (!strcmp(node, name))
			return true;
		any |= *node || policy->endpoints[i].addresses.n;
	}
	return !any;
}

size_t policy_n_without_node(const struct policy *policy)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_endpoints; i++)
		n += !policy->endpoints[i].node && policy->endpoints[i].addresses.n;
	return n;
}

const struct policy_rule *policy_rule_by_id(const struct policy *policy, uint32_t id)
{
	if (!policy)
		return NULL;
	return policy_search(&id, policy->rules, policy->n_rules, sizeof(*policy->rules),
			     compare_rule);
}

static int compare_audit(const void *key, const void *record)
{
	const uint32_t id = *(const uint32_t *)key;
	const struct policy_audit *audit = record;

	return id < audit->id ? -1 : id > audit->id;
}

const struct policy_audit *policy_audit_by_id(const struct policy *policy, uint32_t id)
{
	if (!policy)
		return NULL;
	return policy_search(&id, policy->audits, policy->n_audits, sizeof(*policy->audits),
			     compare_audit);
}

const struct policy_audit *policy_audit_of(const struct policy *policy, uint32_t verdict)
{
	return bh_verdict_audit(verdict) ? policy_audit_by_id(policy, bh_verdict_rule(verdict))
					 : NULL;
}

const struct policy_rule *policy_rule_of(const struct policy *policy, uint32_t verdict)
{
	const struct policy_audit *audit = policy_audit_of(policy, verdict);

	if (audit)
		verdict = audit->decides;
	return bh_verdict_audit(verdict) ? NULL
					 : policy_rule_by_id(policy, bh_verdict_rule(verdict));
}

const struct policy_segment *policy_segment_by_id(const struct policy *policy, uint32_t id)
{
	return lazy_segment_by_id(policy_lazy(policy), id);
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

/* The key of a search in policy->domains. */
struct domain_key {
	const struct policy *policy;
	const char *name;
	uint32_t class;
};

static int compare_domain(const void *key, const void *record)
{
	const struct domain_key *wanted = key;
	const struct policy_domain *domain = record;
	int order = strcmp(wanted->name, policy_string(wanted->policy, domain->name));

	if (order)
		return order;
	return wanted->class < domain->class ? -1 : wanted->class > domain->class;
}

const struct policy_segment *policy_by_domain(const struct policy *policy, const char *name,
					      const struct policy_segment *subject)
{
	const uint32_t classes[] = {subject->own[EGRESS], subject->common[EGRESS]};
	const struct policy_domain *found = NULL;

	for (int i = 0; name && !found && i < 2; i++) {
		const struct domain_key key = {policy, name, classes[i]};

		found = policy_search(&key, policy->domains, policy->n_domains, sizeof(*found),
				      compare_domain);
	}
	return found ? &policy->segments[found->segment] : subject;
}

size_t policy_domain_next(const struct policy *policy, size_t i)
{
	const char *name = policy_string(policy, policy->domains[i].name);

	do
		i++;
	while (i < policy->n_domains &&
	       !strcmp(policy_string(policy, policy->domains[i].name), name));
	return i;
}

bool policy_domain_matches(const char *pattern, const char *name)
{
	const size_t length = strlen(pattern), n = strlen(name);

	if (*pattern != '*')
		return !strcmp(pattern, name);
	/* The wildcard stands for one label or more, never for none. */
	return n >= length && !strcmp(name + n - (length - 1), pattern + 1);
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

const struct policy_namespace *policy_namespace_by_name(const struct policy *policy,
							const char *name)
{
	return lazy_namespace_by_name(policy_lazy(policy), name);
}

const struct policy_endpoint *policy_endpoint_by_name(const struct policy *policy, const char *ns,
						      const char *name)
{
	return lazy_endpoint_by_name(policy_lazy(policy), ns, name);
}

bool policy_has_node(const struct policy *policy, const struct address *address)
{
	for (size_t i = 0; i < policy->n_node_addresses; i++)
		if (!memcmp(&policy->node_addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

const struct policy_address *policy_address_find(const struct policy *policy,
						 const struct address *address)
{
	return lazy_address_find(policy_lazy(policy), address);
}

const char *matcher_namespace(const struct policy *policy, const struct policy_matcher *matcher)
{
	return lazy_matcher_namespace(policy_lazy(policy), matcher);
}

struct policy_lists policy_lists_of(const struct policy *policy,
				    const struct policy_segment *segment)
{
	return lazy_lists_of(policy_lazy(policy), segment);
}
