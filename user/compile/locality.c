// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells peers apart by rows. A row holds each local subject's port list for a peer. Peers of the
 * same classes share a row, and equal rows have one number.
 */
#include "compile/locality.h"

#include <string.h>

#include "compile/intern.h"
#include "maps/segment.h"
#include "model/search.h"

/* A local segment in one direction, as a subject. Numbered without gaps. */
struct subject {
	uint32_t own, common, direction;
	struct bh_ports_ref fallback[2];
};

/* A pair of a local subject. */
struct touch {
	uint32_t peer, subject;
	struct bh_ports_ref ports;
};

typedef ARRAY(struct touch) touches_t;

/* All inputs of a row. */
struct face {
	uint32_t own, common, external, resolution;
};

struct decider {
	const struct policy *policy;
	struct locality *locality;
	struct intern subject_bytes;
	ARRAY(struct subject) subjects;
	touches_t own, common; /* sorted by peer */
	struct intern faces; /* struct face */
	ARRAY(uint32_t) row_of; /* row's number, by number in faces */
	struct intern rows; /* rows: a struct bh_ports_ref for each subject */
	struct bh_ports_ref *row; /* the row that is being made */
	bool domains; /* a local subject's rules use domain names */
};

void locality_init(struct locality *locality, const struct policy *policy)
{
	locality->addresses = grow_zeroed(policy->n_addresses, sizeof(bool));
	locality->prefixes = grow_zeroed(policy->n_prefixes, sizeof(bool));
	locality->segments = grow_zeroed(policy->n_segments, sizeof(bool));
	locality->pairs = grow_zeroed(policy->n_pairs, sizeof(bool));
	locality->named = grow_zeroed(policy->n_named, sizeof(bool));
	locality->domains = grow_zeroed(policy->n_domains, sizeof(bool));
}

void locality_free(struct locality *locality)
{
	free(locality->addresses);
	free(locality->prefixes);
	free(locality->segments);
	free(locality->pairs);
	free(locality->named);
	free(locality->domains);
}

/* Adds a segment that has local endpoints as a subject. */
static void add_subjects(struct decider *d, uint32_t number)
{
	const struct policy_segment *segment = &d->policy->segments[number];

	d->locality->segments[number] = true;
	d->domains |= segment->flags & BH_SEGMENT_DOMAINS;
	for (uint32_t direction = INGRESS; direction <= EGRESS; direction++) {
		struct subject subject = {
			segment->own[direction], segment->common[direction], direction, {}};

		bool fresh = false;

		memcpy(subject.fallback, segment->fallback[direction], sizeof(subject.fallback));
		if (segment->flags & BH_SEGMENT_POLICY(direction))
			intern_add(&d->subject_bytes, &subject, sizeof(subject), &fresh);
		if (fresh)
			array_push(&d->subjects, subject);
	}
}

/* Keeps the pairs of a class of subjects, and adds them to subject @number. */
static void add_touches(struct decider *d, uint32_t class, uint32_t number, touches_t *touches)
{
	const struct policy *policy = d->policy;

	if (!class)
		return;
	for (size_t i = SEARCH(policy->n_pairs, k, policy->pairs[k].subject < class);
	     i < policy->n_pairs && policy->pairs[i].subject == class; i++) {
		const struct policy_pair *pair = &policy->pairs[i];

		d->locality->pairs[i] = true;
		array_push(touches, ((struct touch){pair->peer, number, pair->ports}));
	}
}

static int compare_touches(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

/* Writes the subjects' port lists for a class of peers into the row. */
static void touch_row(struct decider *d, const touches_t *touches, uint32_t peer)
{
	for (size_t i = SEARCH(touches->n, k, touches->at[k].peer < peer);
	     i < touches->n && touches->at[i].peer == peer; i++)
		d->row[touches->at[i].subject] = touches->at[i].ports;
}

static int compare_named(const void *key, const void *record)
{
	const struct policy_named *wanted = key, *named = record;

	if (wanted->list != named->list)
		return wanted->list < named->list ? -1 : 1;
	return wanted->resolution < named->resolution ? -1 : wanted->resolution > named->resolution;
}

/* Resolves named lists in the row. In egress, port names are the peer's. In ingress they are the
 * subject's own, and the same for every caller. */
static void resolve_row(struct decider *d, uint32_t resolution)
{
	const struct policy *policy = d->policy;

	for (size_t i = 0; i < d->subjects.n; i++) {
		struct policy_named key = {.list = d->row[i].at, .resolution = resolution};
		const struct policy_named *named = NULL;

		if (d->row[i].count == BH_PORTS_NAMED && d->subjects.at[i].direction == EGRESS)
			named = policy_search(&key, policy->named, policy->n_named, sizeof(key),
					      compare_named);
		if (named)
			d->row[i] = named->ports;
	}
}

static uint32_t make_row(struct decider *d, const struct face *face)
{
	size_t n = d->subjects.n;

	for (size_t i = 0; i < n; i++)
		d->row[i] = d->subjects.at[i].fallback[face->external];
	touch_row(d, &d->common, face->common);
	touch_row(d, &d->own, face->own);
	resolve_row(d, face->resolution);
	return intern_add(&d->rows, d->row, n * sizeof(*d->row), NULL);
}

static uint32_t resolution_of(const struct policy *policy, const struct policy_segment *segment,
			      uint32_t variation)
{
	for (uint32_t i = 0; variation && i < segment->variations.n; i++) {
		const struct policy_variation *known =
			&policy->variations[segment->variations.at + i];

		if (known->id == variation)
			return known->resolution;
	}
	return 0;
}

/* Returns the number of the row for a peer in a segment (index). */
static uint32_t find_row(struct decider *d, uint32_t number, uint32_t variation)
{
	const struct policy_segment *segment = &d->policy->segments[number];
	struct face face = {
		.own = segment->peer_own,
		.common = segment->peer_common,
		.external = !!(segment->flags & BH_SEGMENT_EXTERNAL),
		.resolution = resolution_of(d->policy, segment, variation),
	};
	bool fresh;
	uint32_t at = intern_add(&d->faces, &face, sizeof(face), &fresh);

	if (fresh)
		array_push(&d->row_of, make_row(d, &face));
	return d->row_of.at[at];
}

static bool prefix_contains(const struct policy_prefix *outer, const struct address *address,
			    uint32_t length)
{
	struct address masked = address_mask(address, outer->length);

	return outer->length <= length && !memcmp(&masked, &outer->address, sizeof(masked));
}

/* Keeps the prefixes that say something else than the kept prefix around them. Those that say the
 * same may differ about addresses that are learned by a domain name. */
static void decide_prefixes(struct decider *d)
{
	const struct policy *policy = d->policy;
	ARRAY(uint32_t) around = {0};

	for (uint32_t i = 0; i < policy->n_prefixes; i++) {
		const struct policy_prefix *prefix = &policy->prefixes[i], *outer;

		while (around.n) {
			outer = &policy->prefixes[around.at[around.n - 1]];
			if (prefix_contains(outer, &prefix->address, prefix->length))
				break;
			around.n--;
		}
		if (around.n && !d->domains &&
		    find_row(d, prefix->segment, 0) == find_row(d, outer->segment, 0))
			continue;
		d->locality->prefixes[i] = true;
		d->locality->segments[prefix->segment] = true;
		array_push(&around, i);
	}
	array_free(&around);
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

static bool is_own(const struct locality_node *node, const struct address *address)
{
	return policy_search(address, node->addresses, node->n_addresses, sizeof(*address),
			     compare_addresses);
}

static bool is_link_local(const struct address *address)
{
	return address->bytes[0] == 0xfe && (address->bytes[1] & 0xc0) == 0x80;
}

static bool is_here(const struct policy *policy, const struct locality_node *node,
		    const struct policy_endpoint *endpoint)
{
	return endpoint->node && !strcmp(policy_string(policy, endpoint->node), node->name);
}

/* Whether the address must stay although its prefix says the same: it is the node's, or an owner
 * of a MAC. */
static bool is_special(const struct locality_node *node, const struct address *address)
{
	return node->bridged || is_link_local(address) || is_own(node, address);
}

static void decide_addresses(struct decider *d, const struct locality_node *node)
{
	const struct policy *policy = d->policy;

	for (size_t i = 0; i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		uint32_t cover;

		if (address->segment == POLICY_NOWHERE) {
			d->locality->addresses[i] = true;
			continue;
		}
		cover = policy_prefix_find(policy, &address->address) - policy->segments;
		if (!is_here(policy, node, &policy->endpoints[address->endpoint]) &&
		    !is_special(node, &address->address) && !d->domains &&
		    find_row(d, address->segment, address->variation) == find_row(d, cover, 0))
			continue;
		d->locality->addresses[i] = true;
		d->locality->segments[address->segment] = true;
	}
}

/* Keeps what tells learned addresses apart, where a local subject asks. */
static void decide_domains(struct decider *d)
{
	for (size_t i = 0; d->domains && i < d->policy->n_domains; i++) {
		d->locality->domains[i] = true;
		d->locality->segments[d->policy->domains[i].from] = true;
		d->locality->segments[d->policy->domains[i].segment] = true;
	}
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void decide_named(struct decider *d)
{
	const struct policy *policy = d->policy;
	ARRAY(uint32_t) lists = {0};

	for (size_t i = 0; i < policy->n_pairs; i++)
		if (d->locality->pairs[i] && policy->pairs[i].ports.count == BH_PORTS_NAMED)
			array_push(&lists, policy->pairs[i].ports.at);
	for (size_t i = 0; i < policy->n_segments; i++)
		for (int j = 0; d->locality->segments[i] && j < 4; j++) {
			struct bh_ports_ref ref = policy->segments[i].fallback[j / 2][j % 2];

			if (ref.count == BH_PORTS_NAMED)
				array_push(&lists, ref.at);
		}
	array_sort(&lists, compare_ids);
	for (size_t i = 0; i < policy->n_named; i++)
		d->locality->named[i] = policy_search(&policy->named[i].list, lists.at, lists.n,
						      sizeof(*lists.at), compare_ids);
	array_free(&lists);
}

static void find_subjects(struct decider *d, const struct locality_node *node)
{
	const struct policy *policy = d->policy;

	for (size_t i = 0; i < policy->n_addresses; i++)
		if (policy->addresses[i].segment != POLICY_NOWHERE &&
		    is_here(policy, node, &policy->endpoints[policy->addresses[i].endpoint]))
			add_subjects(d, policy->addresses[i].segment);
	for (size_t i = 0; i < node->n_here; i++)
		add_subjects(d, node->here[i]);
	for (size_t i = 0; i < node->n_elsewhere; i++)
		d->locality->segments[node->elsewhere[i]] = true;
	for (size_t i = 0; i < d->subjects.n; i++) {
		add_touches(d, d->subjects.at[i].own, i, &d->own);
		add_touches(d, d->subjects.at[i].common, i, &d->common);
	}
	array_sort(&d->own, compare_touches);
	array_sort(&d->common, compare_touches);
	d->row = grow_zeroed(d->subjects.n, sizeof(*d->row));
}

static bool has_bridged(const struct policy *policy, const struct locality_node *node)
{
	for (size_t i = 0; i < policy->n_endpoints; i++)
		if (policy->endpoints[i].flags & POLICY_L2 &&
		    is_here(policy, node, &policy->endpoints[i]))
			return true;
	return false;
}

void locality_decide(struct locality *locality, const struct policy *policy,
		     const struct locality_node *node)
{
	struct decider d = {.policy = policy, .locality = locality};
	struct locality_node here = *node;

	here.bridged |= has_bridged(policy, node);
	find_subjects(&d, &here);
	decide_prefixes(&d);
	decide_addresses(&d, &here);
	decide_domains(&d);
	decide_named(&d);
	intern_free(&d.subject_bytes);
	intern_free(&d.faces);
	intern_free(&d.rows);
	array_free(&d.subjects);
	array_free(&d.own);
	array_free(&d.common);
	array_free(&d.row_of);
	free(d.row);
}

size_t locality_endpoints(const struct locality *locality, const struct policy *policy)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_range *addresses = &policy->endpoints[i].addresses;
		bool stays = false;

		for (uint32_t j = 0; j < addresses->n && !stays; j++)
			stays = locality->addresses[policy->endpoint_addresses[addresses->at + j]];
		n += stays;
	}
	return n;
}
