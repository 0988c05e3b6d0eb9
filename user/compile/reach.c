// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subjects × peers, without going through all pairs. A subject's fallback is the port list for
 * peers that none of its rules lists. Only peers that a rule lists are looked at: first by the
 * rules that many subjects have in common, then by the subject's own.
 */
#include "compile/budget.h"

struct touch {
	uint32_t peer, rule;
};

typedef ARRAY(struct touch) touches_t;

struct reach_builder {
	struct compiler *c;
	/* by matcher: the classes of peers that it lists */
	numbers_t *own_classes, *common_classes;
	uint32_t all_resolutions; /* set */
	uint32_t no_resolutions;
};

static int compare_touches(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void index_peers(struct reach_builder *r)
{
	struct compiler *c = r->c;

	r->own_classes = grow_zeroed(c->matchers.n, sizeof(*r->own_classes));
	r->common_classes = grow_zeroed(c->matchers.n, sizeof(*r->common_classes));
	for (uint32_t i = 0; i < c->peers.n; i++) {
		size_t n;
		const uint32_t *at = intern_set(&c->peer_bytes, i, &n);
		bool own = at[0] >> 1;

		for (size_t j = 1; j < n; j++) {
			if (own && c->matchers.at[at[j]].own)
				array_push(&r->own_classes[at[j]], i);
			if (!own)
				array_push(&r->common_classes[at[j]], i);
		}
	}
}

static void add_resolutions(numbers_t *to, const struct segment *segment)
{
	for (size_t i = 0; i < segment->resolutions.n; i++)
		array_push(to, segment->resolutions.at[i]);
}

static uint32_t resolution_set(struct compiler *c, numbers_t *numbers)
{
	uint32_t set;

	numbers_sort(numbers);
	set = intern_add(&c->sets, numbers->at, numbers->n * sizeof(*numbers->at), NULL);
	array_free(numbers);
	return set;
}

/* Finds the resolutions that destinations of each class may have. Named lists get a form for
 * each. */
static void gather_resolutions(struct reach_builder *r)
{
	struct compiler *c = r->c;
	numbers_t *of_peer = grow_zeroed(c->peers.n, sizeof(*of_peer));
	numbers_t *of_subject = grow_zeroed(c->subjects.n, sizeof(*of_subject));
	numbers_t all = {0}, none = {0};

	for (size_t i = 0; i < c->segments.n; i++) {
		const struct segment *segment = &c->segments.at[i];
		uint32_t subject = segment->subject[INGRESS];

		add_resolutions(&all, segment);
		if (segment->peer_own != INTERN_NONE)
			add_resolutions(&of_peer[segment->peer_own], segment);
		if (segment->peer_common != INTERN_NONE)
			add_resolutions(&of_peer[segment->peer_common], segment);
		if (subject == INTERN_NONE)
			continue;
		add_resolutions(&of_subject[subject], segment);
		add_resolutions(&of_subject[c->subjects.at[subject].common], segment);
	}
	for (size_t i = 0; i < c->peers.n; i++)
		c->peers.at[i].resolutions = resolution_set(c, &of_peer[i]);
	for (size_t i = 0; i < c->subjects.n; i++)
		c->subjects.at[i].resolutions = resolution_set(c, &of_subject[i]);
	r->all_resolutions = resolution_set(c, &all);
	r->no_resolutions = resolution_set(c, &none);
	free(of_peer);
	free(of_subject);
}

static bool lists_peers(const struct compiler *c, const struct subject *subject, bool own)
{
	size_t n;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n);

	for (size_t i = 0; i < n; i++) {
		const struct plain_rule *rule = &c->rules.at[rules[i]];

		if (!rule->any_peer && (own ? rule->own : rule->common))
			return true;
	}
	return false;
}

/*
 * Gives each class an ID, whether it has pairs or not: the entry of an active segment must not
 * change when a pair comes, so it depends on the segment's key alone.
 */
static void name_classes(struct compiler *c)
{
	for (uint32_t i = 0; i < c->subjects.n; i++) {
		struct subject *subject = &c->subjects.at[i];

		if (lists_peers(c, subject, subject->common != i))
			subject->id = lineage_class(c->lineage, &subject->key);
	}
	for (uint32_t i = 0; i < c->peers.n; i++)
		c->peers.at[i].id = lineage_class(c->lineage, &c->peers.at[i].key);
}

/* Adds the pair of the subject with the peer of the @n touches. */
static void add_pair(struct reach_builder *r, const struct subject *subject,
		     const struct touch *touches, size_t n, uint32_t verdicts)
{
	struct compiler *c = r->c;
	const struct peer_class *class = &c->peers.at[touches->peer];
	numbers_t rules = {0};
	bool kept;

	for (size_t i = 0; i < n; i++)
		array_push(&rules, touches[i].rule);
	kept = budget_charge_pair(c, rules.at, rules.n, class->edges);
	array_free(&rules);
	if (!kept)
		return;
	tables_pair(c, subject->id, class->id, verdicts);
	tables_need(c, verdicts,
		    subject->direction == INGRESS ? subject->resolutions : class->resolutions);
}

static bool same_ports(const struct compiler *c, uint32_t a, uint32_t b)
{
	struct bh_ports_ref x = c->verdicts.at[a].ports, y = c->verdicts.at[b].ports;

	return x.at == y.at && x.count == y.count;
}

/* Returns true if the rule matches a peer that no matcher lists. A negative matcher matches every
 * endpoint then. */
static bool matches_unlisted(const struct compiler *c, uint32_t number, bool external)
{
	const struct plain_rule *rule = &c->rules.at[number];

	return rule->any_peer ||
	       (!external && rule->common && c->matchers.at[rule->common - 1].negative);
}

/* Returns the verdicts about a peer that exactly the common matchers of the touched rules list;
 * INTERN_NONE: a policy of the rules is over a budget. */
static uint32_t evaluate_common(struct compiler *c, const struct subject *subject,
				const struct touch *touches, size_t n, bool external)
{
	numbers_t matching = {0};
	uint32_t verdicts;
	size_t n_rules, next = 0;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n_rules);

	if (!budget_charge_rules(c, rules, n_rules, BUDGET_STEPS, 1))
		return INTERN_NONE;
	for (size_t i = 0; i < n_rules; i++) {
		bool touched = next < n && touches[next].rule == rules[i];

		next += touched;
		if (matches_unlisted(c, rules[i], external) != touched)
			array_push(&matching, rules[i]);
	}
	verdicts = ports_collapse(c, subject->isolation, matching.at, matching.n);
	array_free(&matching);
	return verdicts;
}

/* Tells the accounts that the next charges are for the pods of a class of peers. */
static void charge_for(struct compiler *c, uint32_t peer)
{
	budget_strangers(c, c->peers.at[peer].ns, c->peers.at[peer].n_ns);
}

/* Finds every (peer class, rule) in which a matcher of the rule lists the class, grouped by
 * peer. Leaves out the rules and the CIDRs of policies that are over a budget. */
static void find_touches(const struct reach_builder *r, const struct subject *subject, bool own,
			 touches_t *touches)
{
	struct compiler *c = r->c;
	size_t n;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n);

	for (size_t i = 0; i < n; i++) {
		const struct plain_rule *rule = &c->rules.at[rules[i]];
		uint32_t matcher = own ? rule->own : rule->common;
		const numbers_t *classes;

		if (!matcher || rule->any_peer)
			continue;
		classes = own ? &r->own_classes[matcher - 1] : &r->common_classes[matcher - 1];
		if (rule->policy->ns_name
			    ? !budget_charge(c, rule->policy, BUDGET_STEPS, classes->n)
			    : !budget_charge_namespace(c, rules, n, BUDGET_STEPS, classes->n))
			continue;
		for (size_t j = 0; j < classes->n; j++)
			if (budget_keeps_edges(c, c->peers.at[classes->at[j]].edges))
				array_push(touches, ((struct touch){classes->at[j], rules[i]}));
	}
	array_sort(touches, compare_touches);
}

static size_t same_peer(const touches_t *touches, size_t i)
{
	size_t n = 1;

	while (i + n < touches->n && touches->at[i + n].peer == touches->at[i].peer)
		n++;
	return n;
}

/* The last peer of a subject, and what was found about it. */
struct reached {
	const struct touch *touches;
	size_t n;
	bool external;
	uint32_t verdicts;
};

/* Returns true if the same rules list both peers. A wide CIDR lists thousands of peers alike. */
static bool is_alike(const struct reached *last, const struct touch *touches, size_t n,
		     bool external)
{
	if (last->n != n || last->external != external)
		return false;
	for (size_t i = 0; i < n; i++)
		if (last->touches[i].rule != touches[i].rule)
			return false;
	return true;
}

static void reach_common(struct reach_builder *r, struct subject *subject)
{
	struct compiler *c = r->c;
	touches_t touches = {0};
	struct reached last = {0};

	for (int external = 0; external <= 1; external++) {
		uint32_t destinations = subject->resolutions;

		subject->fallback[external] = evaluate_common(c, subject, NULL, 0, external);
		subject->left_out |= subject->fallback[external] == INTERN_NONE;
		if (subject->left_out)
			return;
		if (subject->direction == EGRESS)
			destinations = external ? r->no_resolutions : r->all_resolutions;
		tables_need(c, subject->fallback[external], destinations);
	}
	find_touches(r, subject, false, &touches);
	subject->pairs = c->common_pairs.n;
	for (size_t i = 0, n; i < touches.n; i += n) {
		uint32_t peer = touches.at[i].peer, verdicts;
		bool external = c->peers.at[peer].external;

		charge_for(c, peer);
		n = same_peer(&touches, i);
		verdicts = is_alike(&last, &touches.at[i], n, external)
				   ? last.verdicts
				   : evaluate_common(c, subject, &touches.at[i], n, external);
		last = (struct reached){&touches.at[i], n, external, verdicts};
		subject->left_out |= verdicts == INTERN_NONE;
		if (subject->left_out)
			break;
		if (same_ports(c, verdicts, subject->fallback[external]))
			continue;
		array_push(&c->common_pairs, ((struct common_pair){peer, verdicts}));
		subject->n_pairs++;
		add_pair(r, subject, &touches.at[i], n, verdicts);
	}
	budget_strangers(c, NULL, 0);
	array_free(&touches);
}

/* Returns the port list of the common rules alone for an endpoint of @peer, a common class. */
static uint32_t common_verdicts(const struct compiler *c, const struct subject *common,
				uint32_t peer)
{
	size_t low = common->pairs, high = common->pairs + common->n_pairs;

	while (peer != INTERN_NONE && low < high) {
		size_t middle = (low + high) / 2;

		if (c->common_pairs.at[middle].peer == peer)
			return c->common_pairs.at[middle].verdicts;
		if (c->common_pairs.at[middle].peer < peer)
			low = middle + 1;
		else
			high = middle;
	}
	return common->fallback[0];
}

/* Adds the touched rules to those that match by the common part. Returns as evaluate_common(). */
static uint32_t evaluate_own(struct compiler *c, const struct subject *subject, uint32_t verdicts,
			     const struct touch *touches, size_t n)
{
	numbers_t matching = {0};
	size_t n_rules;
	const uint32_t *rules = ports_rules(c, verdicts, &n_rules);

	for (size_t i = 0; i < n_rules; i++)
		array_push(&matching, rules[i]);
	for (size_t i = 0; i < n; i++)
		array_push(&matching, touches[i].rule);
	numbers_sort(&matching);
	verdicts = ports_collapse(c, subject->isolation, matching.at, matching.n);
	array_free(&matching);
	return verdicts;
}

static void reach_own(struct reach_builder *r, struct subject *subject)
{
	struct compiler *c = r->c;
	const struct subject *common = &c->subjects.at[subject->common];
	touches_t touches = {0};

	if (common->left_out)
		return;
	find_touches(r, subject, true, &touches);
	for (size_t i = 0, n; i < touches.n; i += n) {
		uint32_t peer = touches.at[i].peer, base, verdicts;

		charge_for(c, peer);
		n = same_peer(&touches, i);
		base = common_verdicts(c, common, c->peers.at[peer].common);
		verdicts = evaluate_own(c, subject, base, &touches.at[i], n);
		if (verdicts == INTERN_NONE)
			break;
		if (!same_ports(c, verdicts, base))
			add_pair(r, subject, &touches.at[i], n, verdicts);
	}
	budget_strangers(c, NULL, 0);
	array_free(&touches);
}

void reach_build(struct compiler *c)
{
	struct reach_builder r = {.c = c};

	index_peers(&r);
	gather_resolutions(&r);
	name_classes(c);
	for (uint32_t i = 0; i < c->subjects.n; i++)
		if (c->subjects.at[i].common == i)
			reach_common(&r, &c->subjects.at[i]);
	for (uint32_t i = 0; i < c->subjects.n; i++)
		if (c->subjects.at[i].common != i)
			reach_own(&r, &c->subjects.at[i]);
	for (uint32_t i = 0; i < c->matchers.n; i++) {
		array_free(&r.own_classes[i]);
		array_free(&r.common_classes[i]);
	}
	free(r.own_classes);
	free(r.common_classes);
}
