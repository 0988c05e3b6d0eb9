// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/flow_classes.h"

struct flow_class_job {
	const struct policy *const *policies;
	size_t n; /* number of policies */
	const struct policy *outside; /* the prefixes and addresses of all policies */
	struct flow_classes *kinds;
	struct flow_side world; /* of addresses that no narrow prefix has */
	size_t capacity; /* room in the array of members */
};

static int add_member(struct flow_class_job *job, const struct flow_class_member *member,
		      const char *name, const char *suffix)
{
	struct flow_classes *kinds = job->kinds;
	struct flow_class_member *to;
	char *text;

	if (kinds->n_members == job->capacity) {
		size_t capacity = job->capacity ? 2 * job->capacity : 64;
		void *grown = reallocarray(kinds->members, capacity, sizeof(*kinds->members));

		if (!grown)
			return -ENOMEM;
		kinds->members = grown;
		job->capacity = capacity;
	}
	to = &kinds->members[kinds->n_members];
	*to = *member;
	if (asprintf(&text, "%s%s", name, suffix) < 0)
		return -ENOMEM;
	to->end.name = text;
	kinds->n_members++;
	return 0;
}

static uint32_t resolution_of(const struct policy *policy, uint32_t segment, uint32_t variation)
{
	struct policy_range range;

	if (segment == FLOW_CLASS_NOWHERE || !variation)
		return 0;
	range = policy->segments[segment].variations;
	for (uint32_t i = 0; i < range.n; i++)
		if (policy->variations[range.at + i].id == variation)
			return policy->variations[range.at + i].resolution;
	return 0;
}

static struct flow_class_index place_of(const struct policy *policy, const struct address *address)
{
	const struct policy_address *found = policy_address_find(policy, address);

	if (!found)
		return (struct flow_class_index){
			policy_prefix_find(policy, address) - policy->segments, 0, 0};
	return (struct flow_class_index){
		found->segment,
		resolution_of(policy, found->segment, found->variation),
		0,
	};
}

static struct flow_class_member absent_member(void)
{
	return (struct flow_class_member){
		.place = {{FLOW_CLASS_ABSENT, 0, 0}, {FLOW_CLASS_ABSENT, 0, 0}},
		.node = {"", ""},
	};
}

static bool is_absent(const struct flow_class_member *member)
{
	return member->place[0].segment == FLOW_CLASS_ABSENT &&
	       member->place[1].segment == FLOW_CLASS_ABSENT;
}

/* Notes the place of the end in policy @p, for each IP version that it has. */
static void place_member(const struct flow_class_job *job,
			 struct flow_class_member members[FAMILIES], size_t p,
			 const struct flow_side *end, const char *node)
{
	for (enum family family = IPV4; family < FAMILIES; family++) {
		members[family].node[p] = node;
		if (!end->has[family])
			continue;
		members[family].place[p] = place_of(job->policies[p], &end->address[family]);
		members[family].end.first = family;
		members[family].end.has[family] = true;
		members[family].end.address[family] = end->address[family];
	}
}

/* Adds one member, or two if a policy tells the end's addresses of both IP versions apart. */
static int add_families(struct flow_class_job *job, struct flow_class_member members[FAMILIES],
			const char *name)
{
	static const char *const suffixes[FAMILIES] = {" over IPv4", " over IPv6"};
	bool alike = !memcmp(members[IPV4].place, members[IPV6].place, sizeof(members->place));
	int error = 0;

	if (alike && !is_absent(&members[IPV4])) {
		side_add(&members[IPV4].end, &members[IPV6].end.address[IPV6]);
		return add_member(job, &members[IPV4], name, "");
	}
	for (enum family family = IPV4; family < FAMILIES && !error; family++)
		if (!is_absent(&members[family]))
			error = add_member(job, &members[family], name,
					   is_absent(&members[!family]) ? "" : suffixes[family]);
	return error;
}

static int add_endpoint(struct flow_class_job *job, const char *ns, const char *name)
{
	struct flow_class_member members[FAMILIES] = {absent_member(), absent_member()};
	char text[1024];

	for (size_t p = 0; p < job->n; p++) {
		const struct policy *policy = job->policies[p];
		const struct policy_endpoint *endpoint = policy_endpoint_by_name(policy, ns, name);
		struct flow_side side;

		if (!endpoint)
			continue;
		side = side_of_endpoint(policy, endpoint, NULL);
		place_member(job, members, p, &side, policy_string(policy, endpoint->node));
	}
	snprintf(text, sizeof(text), "%s/%s", ns, name);
	return add_families(job, members, text);
}

static int add_endpoints(struct flow_class_job *job)
{
	int error = 0;

	for (size_t p = 0; p < job->n && !error; p++) {
		const struct policy *policy = job->policies[p];

		for (size_t i = 0; i < policy->n_endpoints && !error; i++) {
			const struct policy_endpoint *endpoint = &policy->endpoints[i];
			const char *ns =
				policy_string(policy, policy->namespaces[endpoint->ns].name);
			const char *name = policy_string(policy, endpoint->name);

			if (!p || !policy_endpoint_by_name(job->policies[0], ns, name))
				error = add_endpoint(job, ns, name);
		}
	}
	return error;
}

static int add_node(struct flow_class_job *job, const char *name)
{
	struct flow_class_member members[FAMILIES] = {absent_member(), absent_member()};
	char text[1024];

	for (enum family family = IPV4; family < FAMILIES; family++)
		members[family].external = members[family].is_node = true;
	for (size_t p = 0; p < job->n; p++) {
		const struct policy_node *node = policy_node_by_name(job->policies[p], name);
		struct flow_side side;

		if (!node)
			continue;
		side = side_of_node(job->policies[p], node);
		place_member(job, members, p, &side, name);
	}
	snprintf(text, sizeof(text), "node %s", name);
	return add_families(job, members, text);
}

static int add_nodes(struct flow_class_job *job)
{
	int error = 0;

	for (size_t p = 0; p < job->n && !error; p++) {
		const struct policy *policy = job->policies[p];

		for (size_t i = 0; i < policy->n_nodes && !error; i++) {
			const char *name = policy_string(policy, policy->nodes[i].name);

			if (!p || !policy_node_by_name(job->policies[0], name))
				error = add_node(job, name);
		}
	}
	return error;
}

/* Returns true if the policy has the same records for two of its names, the first of which begin at
 * @a and @b. */
static bool same_domains(const struct policy *policy, size_t a, size_t b)
{
	const size_t n = policy_domain_next(policy, a) - a;

	if (policy_domain_next(policy, b) - b != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct policy_domain *x = &policy->domains[a + i];
		const struct policy_domain *y = &policy->domains[b + i];

		if (x->class != y->class || x->segment != y->segment)
			return false;
	}
	return true;
}

/* Returns flow_class_index.names of a name. */
static uint32_t names_of(const struct policy *policy, const char *name)
{
	size_t own = 0;

	while (own < policy->n_domains &&
	       strcmp(policy_string(policy, policy->domains[own].name), name))
		own = policy_domain_next(policy, own);
	if (own == policy->n_domains)
		return 0;
	for (size_t i = 0; i < own; i = policy_domain_next(policy, i))
		if (same_domains(policy, i, own))
			return 1 + i;
	return 1 + own;
}

static int add_name(struct flow_class_job *job, const char *name)
{
	struct flow_class_member members[FAMILIES] = {absent_member(), absent_member()};
	char text[1024];

	for (size_t p = 0; p < job->n; p++)
		place_member(job, members, p, &job->world, "");
	for (enum family family = IPV4; family < FAMILIES; family++) {
		members[family].external = true;
		members[family].end.domain = name;
		for (size_t p = 0; p < job->n && job->world.has[family]; p++)
			members[family].place[p].names = names_of(job->policies[p], name);
	}
	snprintf(text, sizeof(text), "name:%s", name);
	return add_families(job, members, text);
}

static int add_names(struct flow_class_job *job)
{
	int error = 0;

	for (size_t p = 0; p < job->n && !error; p++) {
		const struct policy *policy = job->policies[p];

		for (size_t i = 0; i < policy->n_domains && !error;
		     i = policy_domain_next(policy, i)) {
			const char *name = policy_string(policy, policy->domains[i].name);

			if (!p || !names_of(job->policies[0], name))
				error = add_name(job, name);
		}
	}
	return error;
}

/* Finds addresses of both IP versions that only the widest prefixes have. */
static void find_world(struct flow_class_job *job)
{
	const struct policy *outside = job->outside;
	uint32_t length[FAMILIES] = {UINT32_MAX, UINT32_MAX};

	for (size_t i = 0; i < outside->n_prefixes; i++) {
		const struct policy_prefix *prefix = &outside->prefixes[i];
		struct flow_side side;

		if (prefix->length >= length[IPV4] && prefix->length >= length[IPV6])
			continue;
		side = side_of_prefix(outside, prefix);
		for (enum family family = IPV4; family < FAMILIES; family++) {
			if (!side.has[family] || prefix->length >= length[family])
				continue;
			length[family] = prefix->length;
			job->world.has[family] = true;
			job->world.address[family] = side.address[family];
		}
	}
	job->world.first = job->world.has[IPV4] ? IPV4 : IPV6;
}

static int add_prefix(struct flow_class_job *job, const struct policy_prefix *prefix)
{
	struct flow_class_member member = absent_member();
	char text[ADDRESS_TEXT];

	member.external = true;
	member.end = side_of_prefix(job->outside, prefix);
	if (!member.end.has[IPV4] && !member.end.has[IPV6])
		return 0;
	member.end.first = member.end.has[IPV4] ? IPV4 : IPV6;
	for (size_t p = 0; p < job->n; p++)
		member.place[p] = place_of(job->policies[p], &member.end.address[member.end.first]);
	return add_member(job, &member, prefix_name(prefix, text), "");
}

static int add_prefixes(struct flow_class_job *job)
{
	const struct policy *outside = job->outside;
	int error = 0;

	for (size_t i = outside->n_prefixes; i-- > 0 && !error;)
		error = add_prefix(job, &outside->prefixes[i]);
	find_world(job);
	return error ? error : add_names(job);
}

static int compare_prefixes(const void *a, const void *b)
{
	const struct policy_prefix *first = a, *second = b;
	int order = memcmp(&first->address, &second->address, sizeof(first->address));

	return order ? order : (int)first->length - (int)second->length;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct policy_address *first = a, *second = b;

	return memcmp(&first->address, &second->address, sizeof(first->address));
}

/* Returns two tables in one. NULL: memory is short. */
static void *join(const void *a, size_t n_a, const void *b, size_t n_b, size_t record)
{
	char *both = reallocarray(NULL, n_a + n_b + 1, record);

	if (both && n_a)
		memcpy(both, a, n_a * record);
	if (both && n_b)
		memcpy(both + n_a * record, b, n_b * record);
	return both;
}

/* Merges the ends outside that either policy tells apart: prefixes, each once, and owners of
 * addresses. */
static int merge_outside(const struct policy *a, const struct policy *b, struct policy *merged)
{
	size_t n = a->n_prefixes + b->n_prefixes;

	merged->prefixes = join(a->prefixes, a->n_prefixes, b->prefixes, b->n_prefixes,
				sizeof(*merged->prefixes));
	merged->addresses = join(a->addresses, a->n_addresses, b->addresses, b->n_addresses,
				 sizeof(*merged->addresses));
	merged->node_addresses = join(a->node_addresses, a->n_node_addresses, b->node_addresses,
				      b->n_node_addresses, sizeof(*merged->node_addresses));
	if (!merged->prefixes || !merged->addresses || !merged->node_addresses)
		return -ENOMEM;
	merged->n_addresses = a->n_addresses + b->n_addresses;
	merged->n_node_addresses = a->n_node_addresses + b->n_node_addresses;
	qsort(merged->addresses, merged->n_addresses, sizeof(*merged->addresses),
	      compare_addresses);
	qsort(merged->prefixes, n, sizeof(*merged->prefixes), compare_prefixes);
	for (size_t i = 0; i < n; i++)
		if (!i || compare_prefixes(&merged->prefixes[i - 1], &merged->prefixes[i]))
			merged->prefixes[merged->n_prefixes++] = merged->prefixes[i];
	return 0;
}

static int add_outside(struct flow_class_job *job)
{
	struct policy merged = {0};
	int error = 0;

	job->outside = job->policies[0];
	if (job->n > 1) {
		error = merge_outside(job->policies[0], job->policies[1], &merged);
		job->outside = &merged;
	}
	if (!error)
		error = add_prefixes(job);
	job->outside = NULL;
	free(merged.prefixes);
	free(merged.addresses);
	free(merged.node_addresses);
	return error;
}

static int compare_places(const struct flow_class_member *a, const struct flow_class_member *b)
{
	if (a->external != b->external)
		return a->external - b->external;
	if (a->is_node != b->is_node)
		return b->is_node - a->is_node;
	return memcmp(a->place, b->place, sizeof(a->place));
}

static bool is_world(const struct flow_class_member *member)
{
	return !strcmp(member->end.name, "world");
}

/* Orders members. A kind is named by its first member, so `world` comes first if it is one. */
static int compare_members(const void *a, const void *b)
{
	const struct flow_class_member *first = a, *second = b;
	int order = compare_places(first, second);

	order = order ? order : is_world(second) - is_world(first);
	return order ? order : strcmp(first->end.name, second->end.name);
}

static int compare_flow_classes(const void *a, const void *b)
{
	const struct flow_class_member *first = ((const struct flow_class *)a)->members;
	const struct flow_class_member *second = ((const struct flow_class *)b)->members;

	if (first->external != second->external)
		return first->external - second->external;
	if (first->is_node != second->is_node)
		return second->is_node - first->is_node;
	if (is_world(first) != is_world(second))
		return is_world(first) - is_world(second);
	return strcmp(first->end.name, second->end.name);
}

static int group(struct flow_classes *kinds)
{
	kinds->at = calloc(kinds->n_members + 1, sizeof(*kinds->at));
	if (!kinds->at)
		return -ENOMEM;
	if (kinds->n_members)
		qsort(kinds->members, kinds->n_members, sizeof(*kinds->members), compare_members);
	for (size_t i = 0; i < kinds->n_members; i++) {
		const struct flow_class_member *member = &kinds->members[i];
		struct flow_class *kind;

		if (!i || compare_places(member - 1, member))
			kinds->at[kinds->n++].members = member;
		kind = &kinds->at[kinds->n - 1];
		kind->n++;
		for (enum family family = IPV4; family < FAMILIES; family++)
			kind->has[family] |= member->end.has[family];
	}
	if (kinds->n)
		qsort(kinds->at, kinds->n, sizeof(*kinds->at), compare_flow_classes);
	return 0;
}

int flow_classes_list(const struct policy *const policies[], size_t n, struct flow_classes *kinds)
{
	struct flow_class_job job = {.policies = policies, .n = n, .kinds = kinds};
	int error;

	*kinds = (struct flow_classes){.policies = n};
	error = add_endpoints(&job);
	if (!error)
		error = add_nodes(&job);
	if (!error)
		error = add_outside(&job);
	if (!error)
		error = group(kinds);
	if (error)
		flow_classes_free(kinds);
	return error;
}

/* Adds a kind for each domain name, behind all others. */
static int add_each_name(const struct policy *policy, struct flow_classes *kinds)
{
	struct flow_class_job job = {&policy, 1, policy, kinds, {0}, kinds->n_members + 1};
	const size_t before = kinds->n_members;
	int error;

	find_world(&job);
	error = add_names(&job);
	if (!error) {
		struct flow_class *at =
			reallocarray(kinds->at, kinds->n_members + 1, sizeof(*kinds->at));

		if (at)
			kinds->at = at;
		else
			error = -ENOMEM;
	}
	for (size_t i = 0; i < kinds->n_members && !error; i++) {
		const struct flow_side *side = &kinds->members[i].end;

		kinds->at[i] = (struct flow_class){
			&kinds->members[i], 1, {side->has[IPV4], side->has[IPV6]}, true};
	}
	kinds->n = error ? before : kinds->n_members;
	return error;
}

int flow_classes_list_each(const struct policy *policy, struct flow_classes *kinds)
{
	struct flow_sides ends;
	int error = flow_sides_list(policy, &ends);

	*kinds = (struct flow_classes){.policies = 1};
	if (error)
		return error;
	kinds->members = calloc(ends.n + 1, sizeof(*kinds->members));
	error = kinds->members ? 0 : -ENOMEM;
	for (size_t i = 0; i < ends.n && !error; i++) {
		struct flow_class_member *member = &kinds->members[kinds->n_members++];
		size_t node = i - ends.n_endpoints;

		*member = absent_member();
		member->external = i >= ends.n_endpoints;
		member->is_node = member->external && node < policy->n_nodes;
		if (!member->external)
			member->node[0] = policy_string(policy, policy->endpoints[i].node);
		else if (member->is_node)
			member->node[0] = policy_string(policy, policy->nodes[node].name);
		member->end = ends.at[i];
		ends.at[i].name = NULL;
		if (member->end.has[IPV4] || member->end.has[IPV6])
			member->place[0] =
				place_of(policy, &member->end.address[member->end.first]);
	}
	flow_sides_free(&ends);
	if (!error)
		error = add_each_name(policy, kinds);
	if (error)
		flow_classes_free(kinds);
	return error;
}

void flow_classes_free(struct flow_classes *kinds)
{
	for (size_t i = 0; i < kinds->n_members; i++)
		free((char *)kinds->members[i].end.name);
	free(kinds->members);
	free(kinds->at);
	*kinds = (struct flow_classes){0};
}

const struct policy_segment *flow_class_subject(const struct policy *policy,
						const struct flow_class *kind,
						const struct policy_segment *subject)
{
	return policy_by_domain(policy, kind->members->end.domain, subject);
}

bool flow_classes_connect(const struct flow_class *from, const struct flow_class *to)
{
	if ((from->members->external && to->members->external) || from->members->end.domain)
		return false;
	return (from->has[IPV4] && to->has[IPV4]) || (from->has[IPV6] && to->has[IPV6]);
}

struct flow_classes_local flow_classes_local_node(const struct flow_class *a,
						  const struct flow_class *b, size_t policy)
{
	const struct flow_class *nodes = a->members->is_node ? a : b;
	const struct flow_class *endpoints = nodes == a ? b : a;
	struct flow_classes_local found = {0};

	if (!nodes->members->is_node)
		return (struct flow_classes_local){.foreign = true};
	for (size_t i = 0; i < endpoints->n; i++)
		for (size_t k = 0; k < nodes->n && !(found.own && found.foreign); k++) {
			const char *own = endpoints->members[i].node[policy];
			bool same = *own && !strcmp(own, nodes->members[k].node[policy]);

			found.own |= same;
			found.foreign |= !same;
		}
	return found;
}
