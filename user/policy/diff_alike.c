// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the kinds that nothing has changed for: most of a large cluster. Two policies have other
 * IDs if one was not compiled as the successor of the other, so that classes and resolutions are
 * compared by their keys.
 */
#include <string.h>

#include "policy/diff_part.h"
#include "maps/segment.h"
#include "model/search.h"

#define NONE UINT32_MAX

/* An ID of one policy with its key. */
struct keyed_id {
	struct policy_key key;
	uint32_t id;
};

/* The IDs of the older policy that a table has, sorted, with those of the newer policy. */
struct id_map {
	uint32_t *from, *to; /* to: NONE: the newer policy has no such record */
	size_t n;
};

enum pairs_alike { PAIRS_UNKNOWN, PAIRS_ALIKE, PAIRS_DIFFER };

struct likeness {
	const struct policy *policy[SIDES];
	struct id_map classes, resolutions;
	char *pairs; /* enum pairs_alike by index of `classes`: the subject's pairs say the same */
};

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct policy_key));
}

static struct id_map make_map(const struct keyed_id *old, size_t n, struct keyed_id *new,
			      size_t n_new)
{
	struct id_map map = {grow_zeroed(n, sizeof(*map.from)), grow_zeroed(n, sizeof(*map.to)), n};

	sort_records(new, n_new, sizeof(*new), compare_keys);
	for (size_t i = 0; i < n; i++) {
		const size_t at = SEARCH(n_new, k, compare_keys(&new[k], &old[i]) < 0);

		map.from[i] = old[i].id;
		map.to[i] = at < n_new && !compare_keys(&new[at], &old[i]) ? new[at].id : NONE;
	}
	return map;
}

/* Lists a table's IDs with their keys, by policy. */
#define LIST(likeness, table, side)                                                               \
	__extension__({                                                                           \
		const struct policy *policy_ = (likeness)->policy[side];                          \
		struct keyed_id *ids_ = grow_zeroed(policy_->n_##table, sizeof(*ids_));           \
                                                                                                  \
		for (size_t i_ = 0; i_ < policy_->n_##table; i_++)                                \
			ids_[i_] =                                                                \
				(struct keyed_id){policy_->table[i_].key, policy_->table[i_].id}; \
		ids_;                                                                             \
	})

#define MAP(likeness, table)                                                                 \
	do {                                                                                 \
		struct keyed_id *old_ = LIST(likeness, table, OLD);                          \
		struct keyed_id *new_ = LIST(likeness, table, NEW);                          \
                                                                                             \
		(likeness)->table = make_map(old_, (likeness)->policy[OLD]->n_##table, new_, \
					     (likeness)->policy[NEW]->n_##table);            \
		free(old_);                                                                  \
		free(new_);                                                                  \
	} while (0)

/* Returns the index of an ID in a map; the map's length: it is not there. */
static size_t index_of(const struct id_map *map, uint32_t id)
{
	const size_t at = SEARCH(map->n, i, map->from[i] < id);

	return at < map->n && map->from[at] == id ? at : map->n;
}

/* Returns true if both IDs have one key. 0 stands for no record. */
static bool same_id(const struct id_map *map, uint32_t old, uint32_t new)
{
	const size_t at = index_of(map, old);

	return old && new ? at < map->n && map->to[at] == new : old == new;
}

/* Returns true if both verdicts say the same to each peer. What a NetworkPolicy denies, the
 * subject's own node gets all the same. */
static bool same_verdict(uint32_t old, uint32_t new)
{
	return bh_verdict_allow(old) == bh_verdict_allow(new) &&
	       (bh_verdict_allow(old) || (bh_verdict_tier(old) == BH_TIER_NETWORK_POLICY) ==
						 (bh_verdict_tier(new) == BH_TIER_NETWORK_POLICY));
}

/* Returns true if both lists say the same, and begin their intervals at the same points. */
static bool same_list(const struct likeness *l, struct bh_ports_ref old, struct bh_ports_ref new)
{
	const struct bh_interval *a, *b;

	if (old.count != new.count || old.count == BH_PORTS_NAMED)
		return false;
	if (!old.count)
		return same_verdict(old.at, new.at);
	a = &l->policy[OLD]->intervals[old.at];
	b = &l->policy[NEW]->intervals[new.at];
	for (uint32_t i = 0; i < old.count; i++)
		if (a[i].start != b[i].start || !same_verdict(a[i].verdict, b[i].verdict))
			return false;
	return true;
}

/* The forms of a list with port names. */
static const struct policy_named *forms_of(const struct policy *policy, uint32_t list, size_t *n)
{
	const size_t at = SEARCH(policy->n_named, i, policy->named[i].list < list);

	*n = SEARCH(policy->n_named, i, policy->named[i].list <= list) - at;
	return policy->named + at;
}

static bool same_ports(const struct likeness *l, struct bh_ports_ref old, struct bh_ports_ref new)
{
	const struct policy_named *a, *b;
	size_t n, n_new;

	if (old.count != BH_PORTS_NAMED || new.count != BH_PORTS_NAMED)
		return same_list(l, old, new);
	a = forms_of(l->policy[OLD], old.at, &n);
	b = forms_of(l->policy[NEW], new.at, &n_new);
	if (n != n_new)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!same_id(&l->resolutions, a[i].resolution, b[i].resolution) ||
		    !same_list(l, a[i].ports, b[i].ports))
			return false;
	return true;
}

/* The pairs of a subject's class. */
static const struct policy_pair *pairs_of(const struct policy *policy, uint32_t class, size_t *n)
{
	const size_t at = SEARCH(policy->n_pairs, i, policy->pairs[i].subject < class);

	*n = SEARCH(policy->n_pairs, i, policy->pairs[i].subject <= class) - at;
	return policy->pairs + at;
}

static bool compare_pairs(const struct likeness *l, uint32_t old, uint32_t new)
{
	size_t n, n_new;
	const struct policy_pair *a = pairs_of(l->policy[OLD], old, &n);
	const struct policy_pair *b = pairs_of(l->policy[NEW], new, &n_new);

	if (n != n_new)
		return false;
	for (size_t i = 0; i < n; i++) {
		const size_t class = index_of(&l->classes, a[i].peer);
		const uint32_t peer = class < l->classes.n ? l->classes.to[class] : NONE;
		const size_t at = SEARCH(n, k, b[k].peer < peer);

		if (at == n || b[at].peer != peer || !same_ports(l, a[i].ports, b[at].ports))
			return false;
	}
	return true;
}

/* Returns true if a subject's class is the same in both policies, and all of its pairs are. */
static bool same_subject(const struct likeness *l, uint32_t old, uint32_t new)
{
	const size_t at = index_of(&l->classes, old);

	if (!same_id(&l->classes, old, new))
		return false;
	if (!old)
		return true;
	if (l->pairs[at] == PAIRS_UNKNOWN)
		l->pairs[at] = compare_pairs(l, old, new) ? PAIRS_ALIKE : PAIRS_DIFFER;
	return l->pairs[at] == PAIRS_ALIKE;
}

static bool says_same(const struct likeness *l, const struct policy_segment *old,
		      const struct policy_segment *new, enum direction direction)
{
	if ((old->flags ^ new->flags) & BH_SEGMENT_POLICY(direction))
		return false;
	return !(old->flags & BH_SEGMENT_POLICY(direction)) ||
	       (same_subject(l, old->own[direction], new->own[direction]) &&
		same_subject(l, old->common[direction], new->common[direction]) &&
		same_ports(l, old->fallback[direction][0], new->fallback[direction][0]) &&
		same_ports(l, old->fallback[direction][1], new->fallback[direction][1]));
}

static void compare_kind(const struct likeness *l, const struct flow_class *kind,
			 struct diff_alike *alike)
{
	const struct flow_class_index *place = kind->members->place;
	const struct policy_segment *old, *new;

	if (place[OLD].segment >= l->policy[OLD]->n_segments ||
	    place[NEW].segment >= l->policy[NEW]->n_segments || kind->members->end.domain)
		return;
	old = &l->policy[OLD]->segments[place[OLD].segment];
	new = &l->policy[NEW]->segments[place[NEW].segment];
	if ((old->flags ^ new->flags) & BH_SEGMENT_EXTERNAL ||
	    !same_id(&l->classes, old->peer_own, new->peer_own) ||
	    !same_id(&l->classes, old->peer_common, new->peer_common) ||
	    !same_id(&l->resolutions, place[OLD].resolution, place[NEW].resolution))
		return;
	for (int direction = INGRESS; direction <= EGRESS; direction++)
		alike->says[direction] =
			kind->members->external || says_same(l, old, new, direction);
	alike->peer = true;
}

struct diff_alike *diff_find_alike(const struct diff *diff)
{
	struct likeness l = {.policy = {diff->policy[OLD], diff->policy[NEW]}};
	struct diff_alike *alike = grow_zeroed(diff->kinds.n, sizeof(*alike));

	MAP(&l, classes);
	MAP(&l, resolutions);
	l.pairs = grow_zeroed(l.classes.n, 1);
	for (size_t i = 0; i < diff->kinds.n; i++)
		compare_kind(&l, &diff->kinds.at[i], &alike[i]);
	free(l.classes.from);
	free(l.classes.to);
	free(l.resolutions.from);
	free(l.resolutions.to);
	free(l.pairs);
	return alike;
}
