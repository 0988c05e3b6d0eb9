/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "policy/diff_part.h"
#include "model/intern.h"
#include "policy/isolation.h"
#include "policy/verdicts.h"

struct work {
	struct diff *diff;
	const struct diff_filter *filter;
	struct diff_alike *alike; /* by kind */
	struct intern lists; /* equal lists of changes get one number */
	ARRAY(struct diff_change) found; /* changes of the current pair */
	ARRAY(unsigned char) key;
};

/* A walk through a port list. */
struct cursor {
	struct verdicts verdicts;
	size_t at;
};

/* The verdicts of one policy between two kinds in one direction. */
struct voice {
	bool subject; /* false: no policy applies at that end */
	bool own_node;
	enum side side;
	enum direction direction;
	const struct policy_segment *segment; /* the subject's segment; NULL: it is in none */
	struct cursor base;
	struct cursor named; /* what a domain name allows beyond; without verdicts: nothing */
};

static const struct policy_segment *segment_of(const struct diff *diff,
					       const struct flow_class *kind, enum side side)
{
	uint32_t segment = kind->members->place[side].segment;

	return segment == FLOW_CLASS_NOWHERE ? NULL : &diff->policy[side]->segments[segment];
}

static struct voice hear(const struct diff *diff, enum side side, enum direction direction,
			 const struct diff_pair *pair)
{
	const struct flow_class *from = &diff->kinds.at[pair->from],
				*to = &diff->kinds.at[pair->to];
	const struct flow_class *subject = direction == INGRESS ? to : from;
	const struct policy_segment *peer =
		segment_of(diff, direction == INGRESS ? from : to, side);
	struct voice voice = {
		.subject = !subject->members->external,
		.own_node = pair->own_node,
		.side = side,
		.direction = direction,
		.segment = segment_of(diff, subject, side),
		.base.verdicts = {.n = 1, .all.verdict = bh_verdict(false, BH_TIER_DEFAULT, 0)},
	};
	const struct policy *policy = diff->policy[side];
	const struct policy_segment *named;

	if (!voice.subject || !voice.segment || !peer)
		return voice;
	voice.base.verdicts = verdicts_of(policy, voice.segment, peer, direction,
					  to->members->place[side].resolution);
	named = flow_class_subject(policy, to, voice.segment);
	if (direction == EGRESS && named != voice.segment)
		voice.named.verdicts = verdicts_of(policy, named, peer, direction, 0);
	return voice;
}

static uint32_t verdict_at(struct cursor *cursor, uint32_t point)
{
	while (cursor->at + 1 < cursor->verdicts.n &&
	       verdicts_at(&cursor->verdicts, cursor->at + 1)->start <= point)
		cursor->at++;
	return verdicts_at(&cursor->verdicts, cursor->at)->verdict;
}

/* Evaluates one point as evaluate_flow() does. A node always reaches its own endpoints; for the way
 * from the endpoint to its node, NetworkPolicies do not count. */
static struct decision decide(const struct diff *diff, struct voice *voice, uint32_t point)
{
	const struct policy *policy = diff->policy[voice->side];
	struct decision decision, named;

	if (!voice->subject)
		return (struct decision){.allow = true, .tier = TIER_DEFAULT};
	decision = decision_of(policy, verdict_at(&voice->base, point));
	if (voice->named.verdicts.n && (!decision.allow || decision.audit)) {
		named = decision_of(policy, verdict_at(&voice->named, point));
		decision = named.allow ? named : decision;
	}
	if (voice->own_node &&
	    (voice->direction == INGRESS || decision.allow || decision.tier == TIER_NETWORK_POLICY))
		return (struct decision){
			.subject = true, .allow = true, .tier = TIER_DEFAULT, .own_node = true};
	if (voice->segment)
		decision_blame(&decision, policy, voice->segment->id, voice->direction);
	return decision;
}

/* Returns the next point after @point at which the list changes. */
static uint32_t next_start(const struct cursor *cursor, uint32_t point)
{
	for (size_t i = cursor->at; i < cursor->verdicts.n; i++)
		if (verdicts_at(&cursor->verdicts, i)->start > point)
			return verdicts_at(&cursor->verdicts, i)->start;
	return VERDICTS_END;
}

/* Returns the next point after @point at which the verdict may change. */
static uint32_t next_point(const struct voice *voice, uint32_t point)
{
	const uint32_t base = next_start(&voice->base, point);
	const uint32_t named = next_start(&voice->named, point);

	if (!voice->subject)
		return VERDICTS_END;
	return base < named ? base : named;
}

static bool same_decision(const struct decision *a, const struct decision *b)
{
	return a->subject == b->subject && a->allow == b->allow && a->tier == b->tier &&
	       a->rule == b->rule && a->own_node == b->own_node;
}

static bool same_change(const struct diff_change *a, const struct diff_change *b)
{
	for (enum side side = OLD; side < SIDES; side++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			if (!same_decision(&a->decisions[side][d], &b->decisions[side][d]))
				return false;
	return true;
}

static bool allows(const struct diff_change *change, enum side side)
{
	return change->decisions[side][INGRESS].allow && change->decisions[side][EGRESS].allow;
}

bool diff_gains(const struct diff_change *change)
{
	return allows(change, NEW);
}

/* Adds a change. Consecutive points with the same change become one. */
static void keep_change(struct work *work, const struct diff_change *change)
{
	struct diff_change *last = work->found.n ? &work->found.at[work->found.n - 1] : NULL;

	if (allows(change, OLD) == allows(change, NEW))
		return;
	if (last && last->end == change->first && same_change(last, change))
		last->end = change->end;
	else
		array_push(&work->found, *change);
}

/* Adds the part of a change that the filter's points leave. */
static void keep_points(struct work *work, struct diff_change change)
{
	const struct diff_filter *filter = work->filter;
	uint32_t first = change.first, end = change.end;

	if (!filter || !filter->n_points) {
		keep_change(work, &change);
		return;
	}
	for (size_t i = 0; i < filter->n_points; i++) {
		change.first = filter->points[i];
		change.end = change.first + 1;
		if (change.first >= first && change.first < end)
			keep_change(work, &change);
	}
}

static void find_changes(struct work *work, const struct diff_pair *pair)
{
	struct voice voices[SIDES][2];
	uint32_t point = 0, next;

	work->found.n = 0;
	for (enum side side = OLD; side < SIDES; side++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			voices[side][d] = hear(work->diff, side, d, pair);
	for (; point < VERDICTS_END; point = next) {
		struct diff_change change = {.first = point};

		next = VERDICTS_END;
		for (enum side side = OLD; side < SIDES; side++)
			for (enum direction d = INGRESS; d <= EGRESS; d++) {
				struct voice *voice = &voices[side][d];
				uint32_t end;

				change.decisions[side][d] = decide(work->diff, voice, point);
				end = next_point(voice, point);
				next = end < next ? end : next;
			}
		change.end = next;
		keep_points(work, change);
	}
}

static void key_put(struct work *work, const void *what, size_t size)
{
	array_reserve(&work->key, size);
	memcpy(work->key.at + work->key.n, what, size);
	work->key.n += size;
}

/* Appends the key by which decisions are equal: the rule's ID, or the policies that isolate. */
static void key_put_decision(struct work *work, enum side side, const struct decision *decision)
{
	const uint32_t numbers[] = {decision->subject, decision->allow, decision->own_node,
				    decision->tier, decision->rule ? decision->rule->id : 0};
	char why[DECISION_TEXT];

	key_put(work, numbers, sizeof(numbers));
	decision_why(work->diff->policy[side], decision, why, sizeof(why));
	key_put(work, why, strlen(why) + 1);
}

/* Returns the index of the list that has the changes found. */
static uint32_t list_of_found(struct work *work)
{
	struct diff *diff = work->diff;
	uint32_t list;
	bool fresh;

	work->key.n = 0;
	for (size_t i = 0; i < work->found.n; i++) {
		const struct diff_change *change = &work->found.at[i];

		key_put(work, &change->first, sizeof(change->first));
		key_put(work, &change->end, sizeof(change->end));
		for (enum side side = OLD; side < SIDES; side++)
			for (enum direction d = INGRESS; d <= EGRESS; d++)
				key_put_decision(work, side, &change->decisions[side][d]);
	}
	list = intern_add(&work->lists, work->key.at, work->key.n, &fresh);
	if (!fresh)
		return list;
	array_push(&diff->lists, ((struct diff_range){diff->changes.n, work->found.n}));
	for (size_t i = 0; i < work->found.n; i++)
		array_push(&diff->changes, work->found.at[i]);
	return list;
}

static void compare_pair(struct work *work, struct diff_pair pair)
{
	find_changes(work, &pair);
	if (!work->found.n)
		return;
	pair.changes = list_of_found(work);
	array_push(&work->diff->pairs, pair);
}

static bool is_looked_at(const struct diff_filter *filter, size_t from, size_t to)
{
	return !filter ||
	       ((!filter->from || filter->from[from]) && (!filter->to || filter->to[to]) &&
		(!filter->either || filter->either[from] || filter->either[to]));
}

static bool in_both(const struct flow_class *kind)
{
	return kind->members->place[OLD].segment != FLOW_CLASS_ABSENT &&
	       kind->members->place[NEW].segment != FLOW_CLASS_ABSENT;
}

/* Returns true if the kind is a domain name, and no rule of @from's policies has it: the kind of
 * the addresses is compared then. */
static bool adds_nothing(const struct work *work, const struct flow_class *from,
			 const struct flow_class *name)
{
	bool nothing = name->members->end.domain;

	for (enum side side = OLD; side < SIDES && nothing; side++) {
		const struct policy_segment *subject = segment_of(work->diff, from, side);

		nothing = !subject ||
			  flow_class_subject(work->diff->policy[side], name, subject) == subject;
	}
	return nothing;
}

static bool are_alike(const struct diff_alike *from, const struct diff_alike *to)
{
	return from->peer && to->peer && from->says[EGRESS] && to->says[INGRESS];
}

static void compare_flow_classes(struct work *work, uint32_t from, uint32_t to)
{
	const struct flow_class *a = &work->diff->kinds.at[from], *b = &work->diff->kinds.at[to];
	struct diff_pair pair = {.from = from, .to = to, .itself = from == to && a->n == 1};
	struct flow_classes_local own;

	if (are_alike(&work->alike[from], &work->alike[to]))
		return;
	if (!flow_classes_connect(a, b) || !in_both(b) || !is_looked_at(work->filter, from, to) ||
	    adds_nothing(work, a, b))
		return;
	own = flow_classes_local_node(a, b, NEW);
	if (own.foreign)
		compare_pair(work, pair);
	pair.own_node = true;
	if (own.own)
		compare_pair(work, pair);
}

static void compare_all(struct work *work)
{
	const struct flow_classes *kinds = &work->diff->kinds;

	for (size_t i = 0; i < kinds->n; i++)
		for (size_t k = 0; k < kinds->n && in_both(&kinds->at[i]); k++)
			compare_flow_classes(work, i, k);
}

static int make(void *data)
{
	struct work *work = data;

	work->alike = diff_find_alike(work->diff);
	compare_all(work);
	diff_gather(work->diff);
	diff_find_services(work->diff);
	return 0;
}

int diff_policies(const struct diff_filter *filter, struct diff *diff)
{
	struct work work = {.diff = diff, .filter = filter};
	int error = memory_guarded(make, &work);

	intern_free(&work.lists);
	array_free(&work.found);
	array_free(&work.key);
	free(work.alike);
	return error;
}

void diff_free(struct diff *diff)
{
	flow_classes_free(&diff->kinds);
	array_free(&diff->pairs);
	array_free(&diff->lists);
	array_free(&diff->changes);
	array_free(&diff->blocks);
	array_free(&diff->sets);
	array_free(&diff->services);
}
