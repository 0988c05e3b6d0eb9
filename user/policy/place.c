// SPDX-License-Identifier: GPL-2.0-only
#include "policy/place.h"

#include <errno.h>

#include "model/grow.h"
#include "model/search.h"

typedef ARRAY(uint32_t) indexes_t;

struct candidate {
	const struct lazy_policy *policy;
	const struct endpoint *endpoint;
	const struct address *address;
	const struct policy_namespace *ns; /* NULL: the policy has no namespace of that name */
	indexes_t in, not_in; /* as in struct policy_segment */
	/* the other address, for place_like(); else NULL */
	const struct policy_address *known;
	struct policy_lists lists; /* lists of the segment that the other address is in */
	bool unclear; /* those lists do not tell whether a matcher holds */
};

/* requirements_at(policy, i) and so on return a record of a table, read if needed. */
#define RECORD(type, name)                                                        \
	static const type *name##_at(const struct lazy_policy *policy, size_t at) \
	{                                                                         \
		return LAZY_ONE(policy, name, at);                                \
	}
RECORD(uint32_t, texts)
RECORD(struct policy_cidr, cidrs)
RECORD(struct policy_requirement, requirements)
RECORD(struct policy_clause, clauses)
RECORD(struct policy_matcher, matchers)
RECORD(struct policy_segment, segments)
RECORD(struct policy_variation, variations)
RECORD(struct policy_resolution, resolutions)
RECORD(struct policy_named_port, named_ports)
RECORD(uint32_t, by_namespace)
RECORD(uint32_t, by_matchers)

/* Returns a string of `texts`. */
static const char *text(const struct lazy_policy *policy, uint32_t at)
{
	return lazy_read_string(policy, *texts_at(policy, at));
}

/* Returns NULL if the namespace lacks the label. */
static const char *namespace_label(const struct candidate *candidate, const char *key)
{
	const struct lazy_policy *policy = candidate->policy;
	const struct policy_namespace *ns = candidate->ns;

	if (!ns)
		return strcmp(key, "kubernetes.io/metadata.name") ? NULL
								  : candidate->endpoint->ns_name;
	for (uint32_t i = 0; i < ns->labels.n; i += 2)
		if (!strcmp(text(policy, ns->labels.at + i), key))
			return text(policy, ns->labels.at + i + 1);
	return NULL;
}

static const char *endpoint_label(const struct candidate *candidate, const char *key)
{
	return labels_get(&candidate->endpoint->labels, key);
}

static bool has_value(const struct lazy_policy *policy, struct policy_range values,
		      const char *value)
{
	for (uint32_t i = 0; i < values.n; i++)
		if (!strcmp(text(policy, values.at + i), value))
			return true;
	return false;
}

static bool holds(const struct candidate *candidate, struct policy_range requirements,
		  const char *(*label)(const struct candidate *, const char *))
{
	const struct lazy_policy *policy = candidate->policy;

	for (uint32_t i = 0; i < requirements.n; i++) {
		const struct policy_requirement *requirement =
			requirements_at(policy, requirements.at + i);
		const char *value = label(candidate, lazy_read_string(policy, requirement->key));
		bool wanted = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_EXISTS;
		bool found = value;

		if (requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN)
			found = value && has_value(policy, requirement->values, value);
		if (found != wanted)
			return false;
	}
	return true;
}

static bool has_address(const struct lazy_policy *policy, const struct policy_clause *clause,
			const struct address *address)
{
	struct cidr cidr = {clause->address, clause->length};

	if (!cidr_contains(&cidr, address))
		return false;
	for (uint32_t i = 0; i < clause->except.n; i++) {
		const struct policy_cidr *except = cidrs_at(policy, clause->except.at + i);

		cidr = (struct cidr){except->address, except->length};
		if (cidr_contains(&cidr, address))
			return false;
	}
	return true;
}

static bool clause_holds(const struct candidate *candidate, const struct policy_clause *clause)
{
	if (clause->kind == CLAUSE_DOMAIN)
		return false;
	if (clause->kind == CLAUSE_ADDRESSES)
		return has_address(candidate->policy, clause, candidate->address);
	if (clause->ns ? strcmp(lazy_read_string(candidate->policy, clause->ns),
				candidate->endpoint->ns_name)
		       : !holds(candidate, clause->namespaces, namespace_label))
		return false;
	return holds(candidate, clause->pods, endpoint_label);
}

static bool has_index(const uint32_t *indexes, uint32_t n, uint32_t index)
{
	for (uint32_t i = 0; i < n; i++)
		if (indexes[i] == index)
			return true;
	return false;
}

/* Returns true if a matcher holds. If it lists the other address, its selectors hold for the
 * endpoint, unless it may list that address for a CIDR alone. */
static bool holds_like(struct candidate *candidate, uint32_t number,
		       const struct policy_matcher *matcher)
{
	const struct lazy_policy *policy = candidate->policy;
	const struct policy_lists *lists = &candidate->lists;
	bool selects = false, then = false, now = false;

	for (uint32_t i = 0; i < matcher->clauses.n; i++) {
		const struct policy_clause *clause = clauses_at(policy, matcher->clauses.at + i);

		selects |= clause->kind == CLAUSE_ENDPOINTS;
		if (clause->kind != CLAUSE_ADDRESSES)
			continue;
		then |= has_address(policy, clause, &candidate->known->address);
		now |= has_address(policy, clause, candidate->address);
	}
	candidate->unclear |= selects && then && !now;
	if (now || then)
		return now;
	return matcher->flags & MATCHER_NEGATIVE
		       ? !has_index(lists->not_in, lists->n_not_in, number)
		       : has_index(lists->in, lists->n_in, number);
}

static void list_matcher(struct candidate *candidate, uint32_t number)
{
	const struct lazy_policy *policy = candidate->policy;
	const struct policy_matcher *matcher = matchers_at(policy, number);
	bool negative = matcher->flags & MATCHER_NEGATIVE, matches = false;

	if (candidate->known)
		matches = holds_like(candidate, number, matcher);
	for (uint32_t i = 0; !candidate->known && i < matcher->clauses.n && !matches; i++)
		matches = clause_holds(candidate, clauses_at(policy, matcher->clauses.at + i));
	if (matches && !negative)
		array_push(&candidate->in, number);
	if (!matches && negative)
		array_push(&candidate->not_in, number);
}

/* Compares the namespace that the matcher at index @i of by_namespace needs. */
static int compare_namespace(const struct lazy_policy *policy, size_t i, const char *ns)
{
	const uint32_t number = *by_namespace_at(policy, i);

	return strcmp(lazy_matcher_namespace(policy, matchers_at(policy, number)), ns);
}

/* Lists the matchers that need this namespace or none. No others can hold. */
static void list_matchers(struct candidate *candidate, const char *ns)
{
	const struct lazy_policy *policy = candidate->policy;

	for (size_t i = SEARCH(policy->n_by_namespace, k, compare_namespace(policy, k, ns) < 0);
	     i < policy->n_by_namespace && !compare_namespace(policy, i, ns); i++)
		list_matcher(candidate, *by_namespace_at(policy, i));
}

static int compare_indexes(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static const struct policy_segment *find_segment(struct candidate *candidate)
{
	const struct lazy_policy *policy = candidate->policy;
	size_t low = 0, high = policy->n_by_matchers;
	struct policy_lists wanted;

	array_sort(&candidate->in, compare_indexes);
	array_sort(&candidate->not_in, compare_indexes);
	wanted = (struct policy_lists){candidate->in.at, candidate->not_in.at, candidate->in.n,
				       candidate->not_in.n};
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct policy_segment *segment =
			segments_at(policy, *by_matchers_at(policy, middle));
		struct policy_lists lists = lazy_lists_of(policy, segment);
		int order = policy_compare_lists(&wanted, &lists);

		if (!order)
			return segment;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool has_port(const struct lazy_policy *policy, const struct policy_resolution *resolution,
		     const struct named_port *port)
{
	for (uint32_t i = 0; i < resolution->ports.n; i++) {
		const struct policy_named_port *known =
			named_ports_at(policy, resolution->ports.at + i);

		if (known->protocol == port->protocol && known->port == port->port &&
		    !strcmp(lazy_read_string(policy, known->name), port->name))
			return true;
	}
	return false;
}

/* Returns true if the endpoint's ports give the segment's names exactly these numbers (NULL:
 * none). */
static bool resolves_to(const struct candidate *candidate, const struct policy_segment *segment,
			const struct policy_resolution *resolution)
{
	const struct lazy_policy *policy = candidate->policy;
	uint32_t n = 0;

	for (size_t i = 0; i < candidate->endpoint->n_ports; i++) {
		const struct named_port *port = &candidate->endpoint->ports[i];

		if (!has_value(policy, segment->names, port->name))
			continue;
		if (!resolution || !has_port(policy, resolution, port))
			return false;
		n++;
	}
	return !resolution || n == resolution->ports.n;
}

static const struct policy_resolution *resolution_by_id(const struct lazy_policy *policy,
							uint32_t id)
{
	const size_t n = policy->n_resolutions;
	const size_t at = SEARCH(n, i, resolutions_at(policy, i)->id < id);

	return at < n && resolutions_at(policy, at)->id == id ? resolutions_at(policy, at) : NULL;
}

static int find_variation(const struct candidate *candidate, const struct policy_segment *segment,
			  uint32_t *variation)
{
	const struct lazy_policy *policy = candidate->policy;

	if (resolves_to(candidate, segment, NULL)) {
		*variation = 0;
		return 0;
	}
	for (uint32_t i = 0; i < segment->variations.n; i++) {
		const struct policy_variation *known =
			variations_at(policy, segment->variations.at + i);

		if (!resolves_to(candidate, segment, resolution_by_id(policy, known->resolution)))
			continue;
		*variation = known->id;
		return 0;
	}
	return -ENOENT;
}

/* Finds the variation by the numbers of the ports, or, if these are unknown, by those of the
 * other address. */
static int vary(const struct candidate *candidate, const struct policy_segment *segment,
		uint32_t *variation)
{
	const struct policy_address *known = candidate->known;

	if (!known)
		return find_variation(candidate, segment, variation);
	if (segment != candidate->policy->segments + known->segment && segment->names.n)
		return -ENOENT;
	*variation = segment->names.n ? known->variation : 0;
	return 0;
}

static int place(struct candidate *candidate, struct placement *placement)
{
	const struct lazy_policy *policy = candidate->policy;
	const struct policy_segment *segment;
	struct placement found;
	int error = -ENOENT;

	candidate->ns = lazy_namespace_by_name(policy, candidate->endpoint->ns_name);
	list_matchers(candidate, "");
	list_matchers(candidate, candidate->endpoint->ns_name);
	segment = candidate->unclear ? NULL : find_segment(candidate);
	if (segment)
		error = vary(candidate, segment, &found.variation);
	if (policy->source && policy->source->error)
		error = policy->source->error;
	if (!error) {
		found.segment = segment - policy->segments;
		*placement = found;
	}
	array_free(&candidate->in);
	array_free(&candidate->not_in);
	return error;
}

static int place_like(const struct lazy_policy *policy, const struct endpoint *endpoint,
		      const struct policy_address *known, const struct address *address,
		      struct placement *placement)
{
	struct candidate candidate = {
		.policy = policy, .endpoint = endpoint, .address = address, .known = known};

	candidate.lists = lazy_lists_of(policy, segments_at(policy, known->segment));
	return place(&candidate, placement);
}

/* Places the endpoint as the policy has the pod of that name, at its address of the same IP
 * version. */
static int place_as_policy(const struct lazy_policy *policy, const struct endpoint *endpoint,
			   const struct address *address, struct placement *placement)
{
	const struct policy_endpoint *known =
		lazy_endpoint_by_name(policy, endpoint->ns_name, endpoint->as_policy);

	for (uint32_t i = 0; known && i < known->addresses.n; i++) {
		const uint32_t *number =
			LAZY_ONE(policy, endpoint_addresses, known->addresses.at + i);
		const struct policy_address *one = LAZY_ONE(policy, addresses, *number);

		if (address_is_ipv4(&one->address) == address_is_ipv4(address))
			return place_like(policy, endpoint, one, address, placement);
	}
	return policy->source && policy->source->error ? policy->source->error : -ENOENT;
}

int policy_place(const struct lazy_policy *policy, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement)
{
	struct candidate candidate = {.policy = policy, .endpoint = endpoint, .address = address};

	if (endpoint->as_policy)
		return place_as_policy(policy, endpoint, address, placement);
	return endpoint->unknown ? -ENOENT : place(&candidate, placement);
}
