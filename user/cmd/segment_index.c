// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "cmd/segment_index.h"
#include "model/grow.h"
#include "model/search.h"
#include "policy/verdicts.h"

static void add(struct index_entries *entries, uint32_t key, size_t number)
{
	entries->at[entries->n++] = (struct index_entry){key, number};
}

static int compare_entries(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void sort(struct index_entries *entries)
{
	size_t n = 0;

	sort_records(entries->at, entries->n, sizeof(*entries->at), compare_entries);
	for (size_t i = 0; i < entries->n; i++)
		if (!i || compare_entries(&entries->at[i - 1], &entries->at[i]))
			entries->at[n++] = entries->at[i];
	entries->n = n;
}

static void add_members(struct index_entries *members, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_range addresses = policy->endpoints[i].addresses;

		for (uint32_t k = 0; k < addresses.n; k++)
			add(members,
			    policy->addresses[policy->endpoint_addresses[addresses.at + k]].segment,
			    i);
	}
	for (size_t i = 0; i < policy->n_prefixes; i++)
		add(members, policy->prefixes[i].segment, policy->n_endpoints + i);
}

static void add_classes(struct segment_index *index, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (segment->delete_generation)
			continue;
		add(&index->own, segment->peer_own, i);
		add(&index->common, segment->peer_common, i);
		for (enum direction d = INGRESS; d <= EGRESS; d++) {
			add(&index->subjects, segment->own[d], 2 * i + d);
			add(&index->subjects, segment->common[d], 2 * i + d);
		}
	}
}

int segment_index_make(struct segment_index *index, const struct policy *policy)
{
	const size_t n = policy->n_segments + 1, size = sizeof(struct index_entry);

	*index = (struct segment_index){
		.members.at = calloc(policy->n_addresses + policy->n_prefixes + 1, size),
		.subjects.at = calloc(n, 4 * size),
		.own.at = calloc(n, size),
		.common.at = calloc(n, size),
		.peers = calloc(n, 2 * sizeof(*index->peers))};
	if (!index->members.at || !index->subjects.at || !index->own.at || !index->common.at ||
	    !index->peers) {
		segment_index_free(index);
		return -ENOMEM;
	}
	add_members(&index->members, policy);
	add_classes(index, policy);
	sort(&index->members);
	sort(&index->subjects);
	sort(&index->own);
	sort(&index->common);
	return 0;
}

void segment_index_free(struct segment_index *index)
{
	free(index->members.at);
	free(index->subjects.at);
	free(index->own.at);
	free(index->common.at);
	free(index->peers);
}

struct index_entries index_find(const struct index_entries *entries, uint32_t key)
{
	const size_t at = SEARCH(entries->n, i, entries->at[i].key < key);
	size_t end = at;

	while (end < entries->n && entries->at[end].key == key)
		end++;
	return (struct index_entries){entries->at + at, end - at};
}

/* Returns true if the segment's policy may allow a port to peers that it has no pair with. */
static bool allows_by_fallback(const struct policy *policy, const struct policy_segment *subject,
			       enum direction direction)
{
	bool any = !(subject->flags & BH_SEGMENT_POLICY(direction));

	for (int external = 0; external < 2 && !any; external++) {
		const struct bh_ports_ref ports = subject->fallback[direction][external];
		struct verdicts verdicts;

		if (ports.count == BH_PORTS_NAMED)
			return true;
		verdicts = verdicts_of_list(policy, ports);
		any = verdicts_allow_any(&verdicts);
	}
	return any;
}

/* Adds the peers of the pairs that one of the subject's classes has. */
static size_t add_peers(const struct segment_index *index, const struct policy *policy,
			uint32_t class, const struct index_entries *peers, size_t n)
{
	size_t i = SEARCH(policy->n_pairs, k, policy->pairs[k].subject < class);

	for (; class && i < policy->n_pairs && policy->pairs[i].subject == class; i++) {
		const struct index_entries found = index_find(peers, policy->pairs[i].peer);

		for (size_t k = 0; k < found.n; k++)
			index->peers[n++] = found.at[k].number;
	}
	return n;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

size_t segment_index_peers(const struct segment_index *index, const struct policy *policy,
			   const struct policy_segment *subject, enum direction direction)
{
	uint32_t *peers = index->peers;
	size_t n = 0, distinct = 0;

	if (allows_by_fallback(policy, subject, direction)) {
		for (size_t i = 0; i < policy->n_segments; i++)
			if (!policy->segments[i].delete_generation)
				peers[n++] = i;
		return n;
	}
	n = add_peers(index, policy, subject->own[direction], &index->own, n);
	n = add_peers(index, policy, subject->common[direction], &index->common, n);
	sort_records(peers, n, sizeof(*peers), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (!i || peers[i - 1] != peers[i])
			peers[distinct++] = peers[i];
	return distinct;
}
