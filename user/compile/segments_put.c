// SPDX-License-Identifier: GPL-2.0-only
/* Fills the tables of the segments: the segments, their variations of port names, and the
 * resolutions of these. */
#include <string.h>

#include "compile/tables.h"
#include "maps/segment.h"

static int compare_resolutions(const void *a, const void *b)
{
	const struct policy_resolution *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct policy_key resolution_key(const struct compiler *c, uint32_t number)
{
	bytes_t bytes = {0};
	struct policy_key key;
	size_t size;
	const void *at = intern_bytes(&c->resolutions, number, &size);

	bytes_put(&bytes, at, size);
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key;
}

/* Returns the resolutions' IDs by the compiler's number. Number 0 has ID 0. */
uint32_t *resolutions_put(struct tables *t)
{
	struct compiler *c = t->c;
	size_t n = c->resolutions.entries.n;
	uint32_t *ids = grow_zeroed(n, sizeof(*ids));

	for (uint32_t i = 1; i < n; i++) {
		struct policy_resolution record = {.key = resolution_key(c, i),
						   .ports = {t->policy->n_named_ports, 0}};
		struct policy_named_port port = {0};
		const char *name;
		size_t offset = 0;

		record.id = ids[i] = lineage_resolution(c->lineage, &record.key);
		if (table_begun(t, resolutions, compare_resolutions, .id = record.id))
			continue;
		while (resolution_next(c, i, &offset, &name, &port.protocol, &port.port)) {
			port.name = tables_string(t, name);
			table_push(t, named_ports, port);
			record.ports.n++;
		}
		table_push(t, resolutions, record);
	}
	table_sort(t, resolutions, compare_resolutions);
	return ids;
}

static struct policy_range put_listed(struct tables *t, uint32_t set, bool external, bool negative)
{
	const struct compiler *c = t->c;
	struct policy_range range = {t->policy->n_numbers, 0};
	size_t n;
	const uint32_t *listed = intern_set(&c->sets, set, &n);

	for (size_t i = 0; i < n; i++) {
		/* an external segment is listed by the matchers that match it */
		if ((!external && c->matchers.at[listed[i]].negative) != negative)
			continue;
		table_push(t, numbers, listed[i]);
		range.n++;
	}
	return range;
}

static struct policy_range put_names(struct tables *t, uint32_t set)
{
	const struct compiler *c = t->c;
	size_t n, size;
	const uint32_t *names = intern_set(&c->names, set, &n);
	struct policy_range range = {t->policy->n_texts, n};

	for (size_t i = 0; i < n; i++)
		table_push(t, texts,
			   tables_string(t, intern_bytes(&c->port_names, names[i], &size)));
	return range;
}

static int compare_variations(const void *a, const void *b)
{
	const struct policy_variation *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void refuse_variations(struct compiler *c, const struct segment *segment, uint32_t n)
{
	uint32_t number = segment - c->segments.at, i = 0;
	const struct endpoint *member;
	char name[512];

	while (i < c->addresses.n && c->addresses.at[i].segment != number)
		i++;
	member = i < c->addresses.n ? &c->cluster->endpoints[c->addresses.at[i].endpoint]
				    : c->cluster->expected;
	snprintf(name, sizeof(name), "%s/%s", member->ns_name, member->name);
	diag_error(c->diag, &member->where, name,
		   "its segment has %u variations of its port names, the limit is %u", n,
		   BH_VARIATION_MAX);
	c->too_big = true;
}

static bool has_variation(const struct policy *policy, uint32_t segment, uint32_t id)
{
	const struct policy_segment *record = policy ? policy_segment_by_id(policy, segment) : NULL;

	for (uint32_t i = 0; record && i < record->variations.n; i++)
		if (policy->variations[record->variations.at + i].id == id)
			return true;
	return false;
}

/* Returns a variation's ID for this node's extension that the segment has neither here nor active:
 * the highest, while a compile gives the lowest. @at: the segment's first new variation. 0: there
 * is none. */
static uint32_t local_variation(const struct tables *t, uint32_t segment, size_t at)
{
	const struct policy_segment *begun = policy_segment_by_id(t->begun, segment);

	for (uint32_t id = BH_VARIATION_MAX; id >= (begun ? begun->next_variation : 1); id--) {
		bool taken = has_variation(t->begun, segment, id) ||
			     has_variation(t->before, segment, id);

		for (size_t i = at; i < t->policy->n_variations; i++)
			taken |= t->policy->variations[i].id == id;
		if (!taken)
			return id;
	}
	return 0;
}

/* Variation IDs count in each segment. The base's record has those that were given before. */
static void put_variations(struct tables *t, const struct segment *segment, const uint32_t *ids,
			   const struct policy_segment *old, struct policy_segment *record)
{
	struct compiler *c = t->c;

	record->variations = (struct policy_range){t->policy->n_variations, segment->resolutions.n};
	record->next_variation = old ? old->next_variation : 1;
	for (size_t i = 0; i < segment->resolutions.n; i++) {
		struct policy_variation variation = {0, ids[segment->resolutions.at[i]]};

		for (uint32_t j = 0; old && j < old->variations.n; j++) {
			const struct policy_variation *known =
				&c->base->variations[old->variations.at + j];

			if (known->resolution == variation.resolution)
				variation.id = known->id;
		}
		if (!variation.id)
			variation.id =
				t->local ? local_variation(t, record->id, record->variations.at)
					 : record->next_variation++;
		c->too_big |= !variation.id;
		table_push(t, variations, variation);
	}
	if (t->local)
		record->next_variation = record->variations.n ? BH_VARIATION_MAX + 1 : 1;
	sort_records(t->policy->variations + record->variations.at, record->variations.n,
		     sizeof(*t->policy->variations), compare_variations);
	if (record->next_variation - 1 > BH_VARIATION_MAX && !c->too_big)
		refuse_variations(c, segment, record->next_variation - 1);
}

static uint32_t peer_id(const struct compiler *c, uint32_t class)
{
	return class == INTERN_NONE ? 0 : c->peers.at[class].id;
}

static void put_subject(struct tables *t, const struct segment *segment, int direction,
			struct policy_segment *record)
{
	const struct compiler *c = t->c;
	const struct subject *subject, *common;

	if (segment->subject[direction] == INTERN_NONE) {
		struct bh_ports_ref open = {bh_verdict(true, BH_TIER_DEFAULT, 0), 0};

		record->fallback[direction][0] = record->fallback[direction][1] = open;
		return;
	}
	subject = &c->subjects.at[segment->subject[direction]];
	common = &c->subjects.at[subject->common];
	record->flags |= BH_SEGMENT_POLICY(direction);
	if (common->domains)
		record->flags |= BH_SEGMENT_DOMAINS;
	if (!subject->enforced)
		record->flags |= BH_SEGMENT_AUDITED(direction);
	record->own[direction] = subject->id;
	record->common[direction] = common->id;
	for (int external = 0; external <= 1; external++)
		record->fallback[direction][external] =
			tables_ports(t, c->verdicts.at[common->fallback[external]].ports);
}

static int compare_segments(const void *a, const void *b)
{
	const struct policy_segment *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Keeps segments of the base that this policy no longer has, and those that the base marks
 * deleted. */
static void put_deleted(struct tables *t, uint32_t generation)
{
	const struct policy *base = t->c->base;
	struct intern kept = {0};

	for (size_t i = 0; i < t->c->segments.n; i++)
		intern_add(&kept, &t->segment_id[i], sizeof(uint32_t), NULL);
	for (size_t i = 0; base && i < base->n_segments; i++) {
		struct policy_segment record = {
			.key = base->segments[i].key,
			.id = base->segments[i].id,
			.create_generation = base->segments[i].create_generation,
			.delete_generation = base->segments[i].delete_generation,
			.flags = base->segments[i].flags & BH_SEGMENT_EXTERNAL};

		if (intern_find(&kept, &record.id, sizeof(record.id)) != INTERN_NONE)
			continue;
		/* a segment that an earlier generation deleted disappears */
		if (record.delete_generation && record.delete_generation != generation)
			continue;
		record.delete_generation = generation;
		table_push(t, segments, record);
	}
	intern_free(&kept);
}

/* Returns the record of a segment, without variations. */
static struct policy_segment segment_record(struct tables *t, const struct segment *segment,
					    uint32_t id, uint32_t create_generation)
{
	struct compiler *c = t->c;
	struct policy_segment record = {.key = segment->key,
					.id = id,
					.flags = segment->external ? BH_SEGMENT_EXTERNAL : 0,
					.create_generation = create_generation,
					.peer_own = peer_id(c, segment->peer_own),
					.peer_common = peer_id(c, segment->peer_common)};

	record.in = put_listed(t, segment->listed, segment->external, false);
	record.not_in = put_listed(t, segment->listed, segment->external, true);
	record.names = put_names(t, segment->names);
	for (int direction = INGRESS; direction <= EGRESS; direction++)
		put_subject(t, segment, direction, &record);
	return record;
}

/* Puts a segment, or the variations that it has beside those of `begun`. */
static void put_segment(struct tables *t, size_t number, const uint32_t *resolution_ids)
{
	const struct segment *segment = &t->c->segments.at[number];
	const struct policy_segment *old = t->old[number];
	const struct policy_segment *begun =
		t->begun ? policy_segment_by_id(t->begun, t->segment_id[number]) : NULL;
	struct policy_segment record;

	if (begun && begun->variations.n == segment->resolutions.n)
		return;
	if (begun)
		record = *begun;
	else
		record = segment_record(t, segment, t->segment_id[number],
					old ? old->create_generation : t->policy->generation);
	put_variations(t, segment, resolution_ids, old, &record);
	if (begun)
		t->policy->segments[begun - t->begun->segments] = record;
	else
		table_push(t, segments, record);
}

void segments_put(struct tables *t, const uint32_t *resolution_ids)
{
	struct compiler *c = t->c;
	struct intern order = {0};

	for (size_t i = 0; i < c->segments.n; i++)
		put_segment(t, i, resolution_ids);
	if (!t->begun)
		put_deleted(t, t->policy->generation);
	table_sort(t, segments, compare_segments);
	for (uint32_t i = 0; i < t->policy->n_segments; i++)
		intern_add(&order, &t->policy->segments[i].id, sizeof(uint32_t), NULL);
	for (size_t i = 0; i < c->segments.n; i++)
		t->segment_index[i] = intern_find(&order, &t->segment_id[i], sizeof(uint32_t));
	intern_free(&order);
}

/* Counts the segment's resolutions that no variation of the base's record has. */
static size_t count_new_variations(const struct compiler *c, const struct segment *segment,
				   const struct policy_segment *old)
{
	struct intern known = {0};
	size_t n = 0;

	for (uint32_t i = 0; i < old->variations.n; i++) {
		const uint32_t id = c->base->variations[old->variations.at + i].resolution;
		const struct policy_resolution wanted = {.id = id}, *resolution;

		resolution = policy_search(&wanted, c->base->resolutions, c->base->n_resolutions,
					   sizeof(wanted), compare_resolutions);
		if (resolution)
			intern_add(&known, &resolution->key, sizeof(resolution->key), NULL);
	}
	for (size_t i = 0; i < segment->resolutions.n; i++) {
		struct policy_key key = resolution_key(c, segment->resolutions.at[i]);

		n += intern_find(&known, &key, sizeof(key)) == INTERN_NONE;
	}
	intern_free(&known);
	return n;
}

/* Returns true if the base's segment has no IDs left for the variations: they are never used
 * again. */
static bool is_used_up(const struct compiler *c, const struct segment *segment,
		       const struct policy_segment *old)
{
	const size_t used = old ? old->next_variation - 1 : 0, n = segment->resolutions.n;

	return old && used + n > BH_VARIATION_MAX &&
	       used + count_new_variations(c, segment, old) > BH_VARIATION_MAX;
}

void segments_find_ids(struct tables *t)
{
	struct compiler *c = t->c;

	t->segment_index = grow_zeroed(c->segments.n, sizeof(*t->segment_index));
	t->segment_id = grow_zeroed(c->segments.n, sizeof(*t->segment_id));
	t->old = grow_zeroed(c->segments.n, sizeof(*t->old));
	for (size_t i = 0; i < c->segments.n; i++) {
		const struct segment *segment = &c->segments.at[i];

		t->segment_id[i] = lineage_segment(c->lineage, &segment->key, &t->old[i]);
		if (t->begun || !is_used_up(c, segment, t->old[i]))
			continue;
		t->segment_id[i] = lineage_new_segment(c->lineage);
		t->old[i] = NULL;
	}
}

struct listed {
	struct policy_lists lists;
	uint32_t segment;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return policy_compare_lists(&x->lists, &y->lists);
}

void by_matchers_put(struct tables *t)
{
	struct policy *policy = t->policy;
	struct listed *listed = grow_zeroed(policy->n_segments, sizeof(*listed));
	size_t n = 0;

	policy->n_by_matchers = 0;
	for (uint32_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		if (policy_segment_has_members(segment))
			listed[n++] = (struct listed){policy_lists_of(policy, segment), i};
	}
	sort_records(listed, n, sizeof(*listed), compare_listed);
	for (size_t i = 0; i < n; i++)
		table_push(t, by_matchers, listed[i].segment);
	free(listed);
}
