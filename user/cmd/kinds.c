// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/flow.h"
#include "cmd/kinds.h"

struct job {
	const struct policy *const *policies;
	size_t n; /* policies */
	struct kinds *kinds;
	size_t room; /* members */
};

static int add_member(struct job *job, const struct kind_member *member, const char *format,
		      const char *a, const char *b, const char *c)
{
	struct kinds *kinds = job->kinds;
	struct kind_member *to;

	if (kinds->n_members == job->room) {
		size_t room = job->room ? 2 * job->room : 64;
		void *grown = realloc(kinds->members, room * sizeof(*kinds->members));

		if (!grown)
			return -ENOMEM;
		kinds->members = grown;
		job->room = room;
	}
	to = &kinds->members[kinds->n_members];
	*to = *member;
	if (asprintf(&to->name, format, a, b, c) < 0)
		return -ENOMEM;
	kinds->n_members++;
	return 0;
}

static uint32_t resolution_of(const struct policy *policy, uint32_t segment, uint32_t variation)
{
	struct policy_range range = policy->segments[segment].variations;

	for (uint32_t i = 0; i < range.n && variation; i++)
		if (policy->variations[range.at + i].id == variation)
			return policy->variations[range.at + i].resolution;
	return 0;
}

static bool is_ipv4(const struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address->bytes, mapped, sizeof(mapped));
}

/* The place of an endpoint's first address of a family. */
static struct kind_place place_of_endpoint(const struct policy *policy,
					   const struct policy_endpoint *endpoint,
					   enum family family)
{
	struct policy_range range = endpoint ? endpoint->addresses : (struct policy_range){0};

	for (uint32_t i = 0; i < range.n; i++) {
		const struct policy_address *address =
			&policy->addresses[policy->numbers[range.at + i]];

		if (is_ipv4(&address->address) == (family == IPV4))
			return (struct kind_place){
				address->segment,
				resolution_of(policy, address->segment, address->variation),
			};
	}
	return (struct kind_place){KIND_ABSENT, 0};
}

static bool is_absent(const struct kind_member *member)
{
	return member->place[0].segment == KIND_ABSENT && member->place[1].segment == KIND_ABSENT;
}

static struct kind_member absent_member(bool external)
{
	return (struct kind_member){{{KIND_ABSENT, 0}, {KIND_ABSENT, 0}}, external, NULL};
}

static int add_endpoint(struct job *job, const char *ns, const char *name)
{
	static const char *const suffixes[FAMILIES] = {" over IPv4", " over IPv6"};
	struct kind_member member[FAMILIES];
	bool alike;
	int error = 0;

	for (enum family family = IPV4; family < FAMILIES; family++) {
		member[family] = absent_member(false);
		for (size_t i = 0; i < job->n; i++)
			member[family].place[i] = place_of_endpoint(
				job->policies[i],
				policy_endpoint_by_name(job->policies[i], ns, name), family);
	}
	alike = !memcmp(member[IPV4].place, member[IPV6].place, sizeof(member[IPV4].place));
	for (enum family family = IPV4; family < FAMILIES && !error; family++) {
		bool alone = alike || is_absent(&member[!family]);

		if (is_absent(&member[family]) || (family == IPV6 && alike))
			continue;
		error = add_member(job, &member[family], "%s/%s%s", ns, name,
				   alone ? "" : suffixes[family]);
	}
	return error;
}

static int add_endpoints(struct job *job)
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

static int compare_prefixes(const void *a, const void *b)
{
	const struct policy_prefix *first = a, *second = b;
	int order = memcmp(&first->address, &second->address, sizeof(first->address));

	return order ? order : (int)first->length - (int)second->length;
}

/* The segment of the longest prefix that holds all of @prefix; ::/0 is always there. */
static uint32_t segment_of_prefix(const struct policy *policy, const struct policy_prefix *prefix)
{
	const struct policy_prefix *found = NULL;

	for (int length = prefix->length; length >= 0 && !found; length--) {
		struct policy_prefix key = {
			.address = address_mask(&prefix->address, length),
			.length = length,
		};

		found = policy_search(&key, policy->prefixes, policy->n_prefixes, sizeof(key),
				      compare_prefixes);
	}
	return found ? found->segment : KIND_ABSENT;
}

static bool has_prefix(const struct policy *policy, const struct policy_prefix *prefix)
{
	return policy_search(prefix, policy->prefixes, policy->n_prefixes, sizeof(*prefix),
			     compare_prefixes);
}

/* The name of the node whose address a prefix is, NULL: of none. */
static const char *node_of_prefix(const struct policy *policy, const struct policy_prefix *prefix)
{
	for (size_t i = 0; i < policy->n_nodes && prefix->length == 128; i++) {
		struct policy_range range = policy->nodes[i].addresses;

		for (uint32_t k = 0; k < range.n; k++)
			if (!memcmp(&policy->node_addresses[range.at + k], &prefix->address,
				    sizeof(prefix->address)))
				return policy_string(policy, policy->nodes[i].name);
	}
	return NULL;
}

static int add_prefix(struct job *job, const struct policy *policy,
		      const struct policy_prefix *prefix)
{
	const struct cidr cidr = {prefix->address, prefix->length};
	const char *node = node_of_prefix(policy, prefix);
	struct kind_member member = absent_member(true);
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < job->n; i++)
		member.place[i].segment = segment_of_prefix(job->policies[i], prefix);
	if (node)
		return add_member(job, &member, "%s of node %s%s", cidr_print(&cidr, text), node,
				  "");
	return add_member(job, &member, "%s%s%s",
			  prefix->length ? cidr_print(&cidr, text) : "world", "", "");
}

static int add_prefixes(struct job *job)
{
	int error = 0;

	for (size_t p = 0; p < job->n && !error; p++) {
		const struct policy *policy = job->policies[p];

		for (size_t i = 0; i < policy->n_prefixes && !error; i++)
			if (!p || !has_prefix(job->policies[0], &policy->prefixes[i]))
				error = add_prefix(job, policy, &policy->prefixes[i]);
	}
	return error;
}

static int compare_places(const struct kind_member *a, const struct kind_member *b)
{
	if (a->external != b->external)
		return a->external - b->external;
	return memcmp(a->place, b->place, sizeof(a->place));
}

static int compare_members(const void *a, const void *b)
{
	const struct kind_member *first = a, *second = b;
	int order = compare_places(first, second);

	return order ? order : strcmp(first->name, second->name);
}

static int group(struct kinds *kinds)
{
	kinds->at = calloc(kinds->n_members + 1, sizeof(*kinds->at));
	if (!kinds->at)
		return -ENOMEM;
	qsort(kinds->members, kinds->n_members, sizeof(*kinds->members), compare_members);
	for (size_t i = 0; i < kinds->n_members; i++) {
		const struct kind_member *member = &kinds->members[i];

		if (!i || compare_places(member - 1, member))
			kinds->at[kinds->n++].members = member;
		kinds->at[kinds->n - 1].n++;
	}
	return 0;
}

int kinds_list(const struct policy *const policies[], size_t n, struct kinds *kinds)
{
	struct job job = {policies, n, kinds, 0};
	int error;

	*kinds = (struct kinds){0};
	error = add_endpoints(&job);
	if (!error)
		error = add_prefixes(&job);
	if (!error)
		error = group(kinds);
	if (error)
		kinds_free(kinds);
	return error;
}

void kinds_free(struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->n_members; i++)
		free(kinds->members[i].name);
	free(kinds->members);
	free(kinds->at);
	*kinds = (struct kinds){0};
}
