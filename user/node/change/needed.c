// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "compile/locality.h"
#include "compile/reduce.h"
#include "maps/domain.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/pair.h"
#include "maps/ports.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "node/kernel/domains.h"
#include "node/change/needed_add.h"
#include "node/change/needed.h"
#include "node/kernel/pinned.h"

void needed_free(struct needed *needed)
{
	if (needed->needs.part)
		policy_reduced_free(&needed->policy);
}

static uint32_t count_segments(const struct policy *policy)
{
	uint32_t n = 0;

	for (size_t i = 0; i < policy->n_segments; i++)
		n += !policy->segments[i].delete_generation;
	return n;
}

static void take_part(struct needed *needed, const struct policy *policy,
		      const struct locality *locality)
{
	policy_reduce(policy, locality, &needed->policy);
	needed->needs.endpoints = locality_endpoints(locality, policy);
	needed->needs.segments = needed->policy.n_segments;
}

static bool has_bridged(const struct table *ifaces)
{
	for (size_t i = 0; i < ifaces->n; i++)
		if (((struct bh_iface *)table_value(ifaces, i))->flags & BH_IFACE_L2)
			return true;
	return false;
}

void needed_make(struct needed *needed, const struct policy *policy, const struct local *local,
		 uint32_t flags)
{
	const struct locality_node node = {
		.name = local->name,
		.addresses = local->addresses,
		.n_addresses = local->n_addresses,
		.bridged = has_bridged(&local->ifaces),
	};
	CLEANUP(locality_free) struct locality locality = {};

	*needed = (struct needed){
		.policy = *policy,
		.needs = {.part = flags & BH_BLOB_NEEDED,
			  .endpoints = policy->n_endpoints,
			  .of_endpoints = policy->n_endpoints,
			  .segments = count_segments(policy),
			  .of_segments = count_segments(policy)},
	};
	if (!needed->needs.part)
		return;
	locality_init(&locality, policy);
	locality_decide(&locality, policy, &node);
	take_part(needed, policy, &locality);
}

/* The state of one look at the maps. */
struct survey {
	const struct policy *policy;
	const struct image *have;
	uint32_t ids, generation;
	struct locality locality;
};

static void survey_end(struct survey *survey)
{
	locality_free(&survey->locality);
}

/* Returns the policy's segment that an assignment leads to; NULL: it leads to no segment of the
 * policy. */
static const struct policy_segment *segment_of(const struct survey *s, const __u64 words[2])
{
	const struct table *segments = &s->have->map[MAP_segments];
	uint32_t slot = bh_assignment_slot(bh_assignment_at(words[0], words[1], s->generation));
	const struct bh_segment *segment =
		slot && slot < segments->n ? table_value(segments, slot) : NULL;

	return segment && segment->id ? policy_segment_by_id(s->policy, segment->id ^ s->ids)
				      : NULL;
}

/* Notes the segments that the endpoints and prefixes of the maps are in. */
static void survey_segments(struct survey *s)
{
	const struct table *endpoints = &s->have->map[MAP_endpoints];
	const struct table *prefixes = &s->have->map[MAP_prefixes];
	const struct policy_segment *found;

	for (size_t i = 0; i < endpoints->n; i++) {
		found = segment_of(s,
				   ((struct bh_endpoint *)table_value(endpoints, i))->assignment);
		if (found)
			s->locality.segments[found - s->policy->segments] = true;
	}
	for (size_t i = 0; i < prefixes->n; i++) {
		found = segment_of(s, ((struct bh_prefix *)table_value(prefixes, i))->assignment);
		if (found)
			s->locality.segments[found - s->policy->segments] = true;
	}
}

static void survey_places(struct survey *s)
{
	const struct policy *policy = s->policy;

	for (size_t i = 0; i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		const struct bh_endpoint *entry =
			table_find(&s->have->map[MAP_endpoints], &address->address);

		s->locality.addresses[i] = entry && segment_of(s, entry->assignment) ==
							    &policy->segments[address->segment];
	}
	for (size_t i = 0; i < policy->n_prefixes; i++) {
		const struct policy_prefix *prefix = &policy->prefixes[i];
		struct bh_prefix_key key = {.length = prefix->length};
		const struct bh_prefix *entry;

		memcpy(&key.addr, &prefix->address, sizeof(key.addr));
		entry = table_find(&s->have->map[MAP_prefixes], &key);
		s->locality.prefixes[i] = entry && segment_of(s, entry->assignment) ==
							   &policy->segments[prefix->segment];
	}
}

static void survey_pairs(struct survey *s)
{
	const struct policy *policy = s->policy;

	for (size_t i = 0; i < policy->n_pairs; i++) {
		const struct policy_pair *pair = &policy->pairs[i];
		struct bh_pair_key key = {pair->subject ^ s->ids,
					  pair->peer ? pair->peer ^ s->ids : 0};

		s->locality.pairs[i] = table_find(&s->have->map[MAP_pairs], &key);
	}
	for (size_t i = 0; i < policy->n_named; i++) {
		const struct policy_named *named = &policy->named[i];
		struct bh_named_key key = {named->list ^ s->ids,
					   named->resolution ? named->resolution ^ s->ids : 0};

		s->locality.named[i] = table_find(&s->have->map[MAP_named], &key);
	}
}

/* Marks all entries that the maps have of a staged policy as needed: no endpoint is in that policy
 * yet. */
static void survey_staged(struct survey *s)
{
	const struct table *segments = &s->have->map[MAP_segments];

	for (uint32_t slot = 1; slot < segments->n; slot++) {
		const struct bh_segment *segment = table_value(segments, slot);
		const struct policy_segment *found =
			segment->id ? policy_segment_by_id(s->policy, segment->id ^ s->ids) : NULL;

		if (found && !found->delete_generation)
			s->locality.segments[found - s->policy->segments] = true;
	}
}

/* Notes the segments of learned addresses that the maps have. */
static void survey_domains(struct survey *s, struct node_handle *handle)
{
	const struct policy *policy = s->policy;

	for (size_t i = 0; i < policy->n_domains; i++) {
		const struct policy_domain *domain = &policy->domains[i];
		struct bh_domain_key key = {.segment = policy->segments[domain->from].id ^ s->ids,
					    .class = domain->class ^ s->ids};
		struct bh_domain name;

		if (domains_hash(handle, policy_string(policy, domain->name), &key.domain, &name) ||
		    !table_find(&s->have->map[MAP_domain_peers], &key))
			continue;
		s->locality.domains[i] = true;
		s->locality.segments[domain->from] = true;
		s->locality.segments[domain->segment] = true;
	}
}

void needed_in_maps(struct needed *needed, struct node_handle *handle, const struct image *have,
		    const struct policy *policy, const struct bh_blob *header)
{
	CLEANUP(survey_end)
	struct survey survey = {.policy = policy,
				.have = have,
				.ids = header->ids,
				.generation = node_generation(handle)};

	*needed = (struct needed){.policy = *policy, .needs.part = header->flags & BH_BLOB_NEEDED};
	if (!needed->needs.part)
		return;
	locality_init(&survey.locality, policy);
	if (header->generation == BH_BLOB_STAGED)
		survey_staged(&survey);
	else
		survey_segments(&survey);
	survey_domains(&survey, handle);
	survey_places(&survey);
	survey_pairs(&survey);
	take_part(needed, policy, &survey.locality);
}

uint32_t *needed_slots(const struct needed *needed, const struct policy *policy,
		       const struct layout *layout)
{
	uint32_t *slots = calloc(policy->n_segments + 1, sizeof(*slots));

	/* both are sorted by ID */
	for (size_t i = 0, j = 0; slots && i < needed->policy.n_segments; i++) {
		while (policy->segments[j].id != needed->policy.segments[i].id)
			j++;
		slots[j] = layout->slots[i];
	}
	return slots;
}

static void put_arrival(const struct arrival *arrival, struct locality_node *node, uint32_t *here,
			uint32_t *elsewhere)
{
	for (size_t i = 0; i < arrival->n; i++)
		if (arrival->here)
			here[node->n_here++] = arrival->places[i].segment;
		else
			elsewhere[node->n_elsewhere++] = arrival->places[i].segment;
	node->bridged = arrival->here && arrival->bridged;
}

/* Lists the segments of this node's endpoints and of added endpoints of other nodes, by the maps.
 * The policy says where its other endpoints are. */
static void put_members(const struct survey *s, struct locality_node *node, uint32_t *here,
			uint32_t *elsewhere)
{
	const struct table *endpoints = &s->have->map[MAP_endpoints];

	for (size_t i = 0; i < endpoints->n; i++) {
		const struct bh_endpoint *entry = table_value(endpoints, i);
		const struct policy_segment *found = segment_of(s, entry->assignment);

		if (!found)
			continue;
		if (entry->ifindex)
			here[node->n_here++] = found - s->policy->segments;
		else if (table_find(&s->have->map[MAP_added], table_key(endpoints, i)))
			elsewhere[node->n_elsewhere++] = found - s->policy->segments;
	}
	node->bridged |= has_bridged(&s->have->map[MAP_ifaces]);
}

int needed_with(struct needed *needed, const struct node_handle *handle, const struct image *have,
		const struct local *local, const struct arrival *arrival)
{
	const size_t room = have->map[MAP_endpoints].n + arrival->n + 1;
	SCOPED_FREE uint32_t *here = calloc(room, sizeof(*here));
	SCOPED_FREE uint32_t *elsewhere = calloc(room, sizeof(*elsewhere));
	CLEANUP(survey_end)
	struct survey survey = {.policy = pinned_whole(handle),
				.have = have,
				.ids = handle->blob.ids,
				.generation = node_generation(handle)};
	struct locality_node node = {
		.name = local->name,
		.addresses = local->addresses,
		.n_addresses = local->n_addresses,
		.here = here,
		.elsewhere = elsewhere,
	};

	if (!here || !elsewhere)
		return -ENOMEM;
	put_arrival(arrival, &node, here, elsewhere);
	put_members(&survey, &node, here, elsewhere);
	*needed = (struct needed){.needs.part = true};
	locality_init(&survey.locality, survey.policy);
	locality_decide(&survey.locality, survey.policy, &node);
	take_part(needed, survey.policy, &survey.locality);
	return 0;
}
