// SPDX-License-Identifier: GPL-2.0-only
#include "compile/place.h"

#include <errno.h>

#include "compile/grow.h"
#include "maps/segment.h"

typedef ARRAY(uint32_t) indexes_t;

struct candidate {
	const struct policy *policy;
	const struct endpoint *endpoint;
	const struct address *address;
	const struct policy_namespace *ns; /* NULL: the policy has none of that name */
	indexes_t in, not_in; /* as struct policy_segment has them */
};

/* NULL: the label is not there. */
static const char *namespace_label(const struct candidate *candidate, const char *key)
{
	const struct policy *policy = candidate->policy;
	const struct policy_namespace *ns = candidate->ns;

	if (!ns)
		return strcmp(key, "kubernetes.io/metadata.name") ? NULL
								  : candidate->endpoint->ns_name;
	for (uint32_t i = 0; i < ns->labels.n; i += 2)
		if (!strcmp(policy_string(policy, policy->texts[ns->labels.at + i]), key))
			return policy_string(policy, policy->texts[ns->labels.at + i + 1]);
	return NULL;
}

static const char *endpoint_label(const struct candidate *candidate, const char *key)
{
	return labels_get(&candidate->endpoint->labels, key);
}

static bool has_value(const struct policy *policy, struct policy_range values, const char *value)
{
	for (uint32_t i = 0; i < values.n; i++)
		if (!strcmp(policy_string(policy, policy->texts[values.at + i]), value))
			return true;
	return false;
}

static bool holds(const struct candidate *candidate, struct policy_range requirements,
		  const char *(*label)(const struct candidate *, const char *))
{
	const struct policy *policy = candidate->policy;

	for (uint32_t i = 0; i < requirements.n; i++) {
		const struct policy_requirement *requirement =
			&policy->requirements[requirements.at + i];
		const char *value = label(candidate, policy_string(policy, requirement->key));
		bool wanted = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_EXISTS;
		bool found = value;

		if (requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN)
			found = value && has_value(policy, requirement->values, value);
		if (found != wanted)
			return false;
	}
	return true;
}

static bool clause_holds(const struct candidate *candidate, const struct policy_clause *clause)
{
	const struct policy *policy = candidate->policy;

	if (clause->kind == CLAUSE_ADDRESSES) {
		struct cidr cidr = {clause->address, clause->length};

		if (!cidr_contains(&cidr, candidate->address))
			return false;
		for (uint32_t i = 0; i < clause->except.n; i++) {
			const struct policy_cidr *except = &policy->cidrs[clause->except.at + i];

			cidr = (struct cidr){except->address, except->length};
			if (cidr_contains(&cidr, candidate->address))
				return false;
		}
		return true;
	}
	if (clause->ns ? strcmp(policy_string(policy, clause->ns), candidate->endpoint->ns_name)
		       : !holds(candidate, clause->namespaces, namespace_label))
		return false;
	return holds(candidate, clause->pods, endpoint_label);
}

static void list_matchers(struct candidate *candidate)
{
	const struct policy *policy = candidate->policy;

	for (uint32_t i = 0; i < policy->n_matchers; i++) {
		const struct policy_matcher *matcher = &policy->matchers[i];
		bool negative = matcher->flags & MATCHER_NEGATIVE, matches = false;

		for (uint32_t j = 0; j < matcher->clauses.n && !matches; j++)
			matches =
				clause_holds(candidate, &policy->clauses[matcher->clauses.at + j]);
		if (matches && !negative)
			array_push(&candidate->in, i);
		if (!matches && negative)
			array_push(&candidate->not_in, i);
	}
}

static bool same_list(const struct policy *policy, struct policy_range range, const indexes_t *list)
{
	return range.n == list->n && (!range.n || !memcmp(policy->numbers + range.at, list->at,
							  range.n * sizeof(*list->at)));
}

static const struct policy_segment *find_segment(const struct candidate *candidate)
{
	const struct policy *policy = candidate->policy;

	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (!segment->delete_generation && !(segment->flags & BH_SEGMENT_EXTERNAL) &&
		    same_list(policy, segment->in, &candidate->in) &&
		    same_list(policy, segment->not_in, &candidate->not_in))
			return segment;
	}
	return NULL;
}

static bool has_port(const struct policy *policy, const struct policy_resolution *resolution,
		     const struct named_port *port)
{
	for (uint32_t i = 0; i < resolution->ports.n; i++) {
		const struct policy_named_port *record =
			&policy->named_ports[resolution->ports.at + i];

		if (record->protocol == port->protocol && record->port == port->port &&
		    !strcmp(policy_string(policy, record->name), port->name))
			return true;
	}
	return false;
}

/* Whether the endpoint's ports give the segment's names just these numbers (NULL: none). */
static bool resolves_to(const struct candidate *candidate, const struct policy_segment *segment,
			const struct policy_resolution *resolution)
{
	const struct policy *policy = candidate->policy;
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

static const struct policy_resolution *resolution_by_id(const struct policy *policy, uint32_t id)
{
	for (size_t i = 0; i < policy->n_resolutions; i++)
		if (policy->resolutions[i].id == id)
			return &policy->resolutions[i];
	return NULL;
}

static int find_variation(const struct candidate *candidate, const struct policy_segment *segment,
			  uint32_t *variation)
{
	const struct policy *policy = candidate->policy;

	if (resolves_to(candidate, segment, NULL)) {
		*variation = 0;
		return 0;
	}
	for (uint32_t i = 0; i < segment->variations.n; i++) {
		const struct policy_variation *known =
			&policy->variations[segment->variations.at + i];

		if (!resolves_to(candidate, segment, resolution_by_id(policy, known->resolution)))
			continue;
		*variation = known->id;
		return 0;
	}
	return -ENOENT;
}

int policy_place(const struct policy *policy, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement)
{
	struct candidate candidate = {.policy = policy,
				      .endpoint = endpoint,
				      .address = address,
				      .ns = policy_namespace_by_name(policy, endpoint->ns_name)};
	const struct policy_segment *segment;
	int error = -ENOENT;

	list_matchers(&candidate);
	segment = find_segment(&candidate);
	if (segment)
		error = find_variation(&candidate, segment, &placement->variation);
	if (!error)
		placement->segment = segment - policy->segments;
	array_free(&candidate.in);
	array_free(&candidate.not_in);
	return error;
}
