// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules that match a pair of ends → one verdict for each point of the number line
 * (maps/types.h), with the rule that decides there. All tiers collapse here; later steps know no
 * order, Pass or isolation.
 */
#include "compile/budget.h"
#include "compile/spans.h"

#include <netinet/in.h>

#define NO_RULE UINT32_MAX

/* The points from `start` to the next step's start. `rule` is the first in order that holds for
 * them. */
struct port_step {
	uint32_t start, rule;
};

typedef ARRAY(struct port_step) steps_t;
typedef ARRAY(struct bh_interval) intervals_t;

/* The policies that a question is about: all, or all but those that are only audited. */
struct port_view {
	bool audited;
	bool isolated;
};

static bool counts(const struct port_view *view, const struct plain_rule *rule)
{
	return view->audited || !rule->policy->audit;
}

/*
 * Drops rules that cannot decide because an earlier rule of their tier holds
 * for every port. So lists that decide alike become equal. The rest decides
 * the same when rules of the NetworkPolicy tier are added.
 */
static void prune(const struct compiler *c, const struct port_view *view, const uint32_t *rules,
		  size_t n, numbers_t *kept)
{
	bool covered = false; /* the admin tier decides or passes on every port */
	bool passes = false; /* the admin tier may pass some port on */

	for (size_t i = 0; i < n; i++) {
		const struct plain_rule *rule = &c->rules.at[rules[i]];
		enum tier tier = rule->policy->tier;

		if (!counts(view, rule) ||
		    (tier == TIER_ADMIN ? covered
					: view->isolated != (tier == TIER_NETWORK_POLICY)))
			continue;
		array_push(kept, rules[i]);
		passes |= tier == TIER_ADMIN && rule->action == ACTION_PASS;
		if (!rule->any_port)
			continue;
		if (tier != TIER_ADMIN || !passes)
			return;
		covered = true;
	}
}

static struct port_view enforced_view(uint32_t isolation)
{
	return (struct port_view){.isolated = isolation_enforced(isolation)};
}

/* Returns true if policies that are only audited take part, so that all of them may decide
 * otherwise than the enforced ones do. */
static bool is_audited(const struct compiler *c, uint32_t isolation, const uint32_t *rules,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c->rules.at[rules[i]].policy->audit)
			return true;
	return isolation_audited(isolation);
}

static struct port_view whole_view(uint32_t isolation)
{
	return (struct port_view){.audited = true, .isolated = isolation};
}

/* Lists who isolates, then the rules that can decide in one view of the policies or the other. */
static void list_rules(const struct compiler *c, uint32_t isolation, const uint32_t *rules,
		       size_t n, numbers_t *list)
{
	const struct port_view enforced = enforced_view(isolation), whole = whole_view(isolation);
	numbers_t kept = {0};

	prune(c, &enforced, rules, n, &kept);
	if (is_audited(c, isolation, rules, n)) {
		prune(c, &whole, rules, n, &kept);
		numbers_sort(&kept);
	}
	array_push(list, isolation);
	for (size_t i = 0; i < kept.n; i++)
		array_push(list, kept.at[i]);
	array_free(&kept);
}

/* A list of compiler.rule_lists: who isolates the subject, and the rules that can decide. */
struct rule_list {
	uint32_t isolation; /* as isolation_of() returns it */
	const uint32_t *rules;
	size_t n;
};

static struct rule_list rule_list_of(const struct compiler *c, uint32_t number)
{
	struct rule_list list;
	const uint32_t *at = intern_set(&c->rule_lists, number, &list.n);

	list.isolation = at[0];
	list.rules = at + 1;
	list.n--;
	return list;
}

const uint32_t *ports_rules(const struct compiler *c, uint32_t verdicts, size_t *n)
{
	const struct rule_list list = rule_list_of(c, c->verdicts.at[verdicts].rules);

	*n = list.n;
	return list.rules;
}

bool resolution_next(const struct compiler *c, uint32_t resolution, size_t *offset,
		     const char **name, uint8_t *protocol, uint16_t *port)
{
	size_t size;
	const unsigned char *bytes = intern_bytes(&c->resolutions, resolution, &size);
	uint32_t length, number;

	if (*offset >= size)
		return false;
	memcpy(&length, bytes + *offset, sizeof(length));
	*name = (const char *)bytes + *offset + sizeof(length);
	*offset += sizeof(length) + length;
	memcpy(&number, bytes + *offset, sizeof(number));
	*offset += sizeof(number);
	*protocol = number >> 16;
	*port = number;
	return true;
}

static void add_named_spans(const struct compiler *c, uint32_t rule, const struct port *port,
			    uint32_t resolution, spans_t *spans)
{
	size_t offset = 0;
	const char *name;
	uint8_t protocol;
	uint16_t number;

	while (resolution_next(c, resolution, &offset, &name, &protocol, &number)) {
		uint32_t point = bh_point(protocol, number);

		if (!strcmp(name, port->name) && (!port->protocol || port->protocol == protocol))
			array_push(spans, ((struct span){point, point, rule}));
	}
}

static void add_spans(const struct compiler *c, uint32_t rule, uint32_t resolution, spans_t *spans)
{
	const struct plain_rule *plain = &c->rules.at[rule];

	if (plain->any_port) {
		array_push(spans, ((struct span){0, POINTS - 1, rule}));
		return;
	}
	for (size_t i = 0; i < plain->n_spans; i++)
		array_push(spans,
			   ((struct span){plain->spans[i].first, plain->spans[i].last, rule}));
	for (size_t i = 0; plain->n_names && i < plain->rule->n_ports; i++)
		if (plain->rule->ports[i].kind == PORT_NAME)
			add_named_spans(c, rule, &plain->rule->ports[i], resolution, spans);
}

static void heap_push(spans_t *heap, struct span span)
{
	size_t i = heap->n;

	array_push(heap, span);
	for (; i && heap->at[(i - 1) / 2].rule > span.rule; i = (i - 1) / 2)
		heap->at[i] = heap->at[(i - 1) / 2];
	heap->at[i] = span;
}

static void heap_pop(spans_t *heap)
{
	struct span last = heap->at[--heap->n];
	size_t i = 0;

	while (2 * i + 1 < heap->n) {
		size_t child = 2 * i + 1;

		if (child + 1 < heap->n && heap->at[child + 1].rule < heap->at[child].rule)
			child++;
		if (last.rule <= heap->at[child].rule)
			break;
		heap->at[i] = heap->at[child];
		i = child;
	}
	if (heap->n)
		heap->at[i] = last;
}

/* Returns true if the first of the open spans decides wherever @span might. */
static bool is_hidden(const spans_t *open, const struct span *span)
{
	return open->n && open->at[0].rule < span->rule && open->at[0].last >= span->last;
}

/* Finds the first rule in order at each point: a sweep over the spans, with the open ones in a
 * heap. */
static void first_rules(spans_t *spans, steps_t *steps)
{
	spans_t open = {0};
	size_t next = 0;

	spans_sort(spans);
	for (uint32_t start = 0; start < POINTS;) {
		uint32_t rule, end;

		while (open.n && open.at[0].last < start)
			heap_pop(&open);
		for (; next < spans->n && spans->at[next].first == start; next++)
			if (!is_hidden(&open, &spans->at[next]))
				heap_push(&open, spans->at[next]);
		rule = open.n ? open.at[0].rule : NO_RULE;
		if (!steps->n || steps->at[steps->n - 1].rule != rule)
			array_push(steps, ((struct port_step){start, rule}));
		end = open.n ? open.at[0].last + 1 : POINTS;
		start = next < spans->n && spans->at[next].first < end ? spans->at[next].first
								       : end;
	}
	array_free(&open);
}

/* The first rules in order of a view, at each point. */
struct ruling {
	struct port_view view;
	steps_t admin, lower;
	size_t a, l; /* the steps at the present point */
};

/* Returns the verdict at the present point, and in *@rule the rule that decides, or NO_RULE. */
static uint32_t decide(const struct compiler *c, const struct ruling *ruling, uint32_t *rule)
{
	const uint32_t admin = ruling->admin.at[ruling->a].rule;
	const uint32_t lower = ruling->lower.at[ruling->l].rule;
	const bool isolated = ruling->view.isolated;

	*rule = admin;
	if (admin != NO_RULE && c->rules.at[admin].action != ACTION_PASS)
		return bh_verdict(c->rules.at[admin].action == ACTION_ALLOW, BH_TIER_ADMIN,
				  c->rules.at[admin].id);
	*rule = lower;
	if (lower != NO_RULE && c->rules.at[lower].action != ACTION_PASS)
		return bh_verdict(c->rules.at[lower].action == ACTION_ALLOW,
				  isolated ? BH_TIER_NETWORK_POLICY : BH_TIER_BASELINE,
				  c->rules.at[lower].id);
	*rule = NO_RULE;
	return isolated ? bh_verdict(false, BH_TIER_NETWORK_POLICY, 0)
			: bh_verdict(true, BH_TIER_DEFAULT, 0);
}

static uint32_t next_point(const steps_t *steps, size_t i)
{
	return i + 1 < steps->n ? steps->at[i + 1].start : POINTS;
}

static uint32_t ruling_next(const struct ruling *ruling)
{
	const uint32_t admin = next_point(&ruling->admin, ruling->a);
	const uint32_t lower = next_point(&ruling->lower, ruling->l);

	return admin < lower ? admin : lower;
}

static void ruling_advance(struct ruling *ruling, uint32_t point)
{
	ruling->a += next_point(&ruling->admin, ruling->a) == point;
	ruling->l += next_point(&ruling->lower, ruling->l) == point;
}

/* Puts the admin tier's verdicts over those of the other tiers, unless it passes or has no rule.
 * @whole: the view of all policies; NULL: none is only audited. */
static void overlay(struct compiler *c, uint32_t isolation, struct ruling *enforced,
		    struct ruling *whole, intervals_t *intervals)
{
	for (uint32_t start = 0;;) {
		uint32_t rule, verdict = decide(c, enforced, &rule), next = ruling_next(enforced);

		if (whole) {
			const uint32_t would = decide(c, whole, &rule);

			verdict = audit_verdict(c, isolation, verdict, would, rule);
			next = next < ruling_next(whole) ? next : ruling_next(whole);
		}
		if (!intervals->n || intervals->at[intervals->n - 1].verdict != verdict)
			array_push(intervals, ((struct bh_interval){start, verdict}));
		if (next == POINTS)
			return;
		start = next;
		ruling_advance(enforced, start);
		if (whole)
			ruling_advance(whole, start);
	}
}

/* Reports too many intervals if no policy can be set aside. The message names the first policy
 * that is asked. */
static void refuse_intervals(struct compiler *c, uint32_t rule, size_t n)
{
	const struct policy_object *policy = c->rules.at[rule].policy;
	bytes_t name = {0};

	policy_name_put(&name, policy);
	diag_error(c->diag, &policy->where, (const char *)name.at,
		   "with the policies that select the same endpoints, one pair of segments needs "
		   "%zu port intervals, the limit is %u",
		   n, BH_PORTS_MAX);
	array_free(&name);
	c->too_big = true;
}

static struct bh_ports_ref add_intervals(struct compiler *c, const intervals_t *intervals)
{
	uint32_t number;

	if (intervals->n == 1)
		return (struct bh_ports_ref){intervals->at[0].verdict, 0};
	number = intern_add(&c->interval_lists, intervals->at,
			    intervals->n * sizeof(*intervals->at), NULL);
	return (struct bh_ports_ref){
		c->interval_lists.entries.at[number].at / sizeof(*intervals->at), intervals->n};
}

const struct bh_interval *ports_intervals(const struct compiler *c, size_t *n)
{
	_Static_assert(sizeof(struct bh_interval) == 8, "interned bytes are aligned to 8");
	*n = c->interval_lists.bytes.n / sizeof(struct bh_interval);
	return (const void *)c->interval_lists.bytes.at;
}

/* Counts the spans that each rule may have, and the ports that are looked through for names; a port
 * name may stand for each port of the resolution. */
static void count_spans(const struct compiler *c, const struct rule_list *list, uint32_t resolution,
			numbers_t *spans)
{
	size_t size;

	intern_bytes(&c->resolutions, resolution, &size);
	for (size_t i = 0; i < list->n; i++) {
		const struct plain_rule *rule = &c->rules.at[list->rules[i]];
		size_t n = rule->any_port ? 1 : rule->n_spans;

		if (rule->n_names)
			n += rule->rule->n_ports + rule->n_names * (size / 16);
		array_push(spans, n);
	}
}

static void find_ruling(const struct compiler *c, const struct rule_list *list, uint32_t resolution,
			struct ruling *ruling)
{
	spans_t admin = {0}, lower = {0};

	for (size_t i = 0; i < list->n; i++) {
		const struct plain_rule *rule = &c->rules.at[list->rules[i]];
		const enum tier tier = rule->policy->tier;

		if (!counts(&ruling->view, rule))
			continue;
		if (tier == TIER_ADMIN)
			add_spans(c, list->rules[i], resolution, &admin);
		else if (ruling->view.isolated == (tier == TIER_NETWORK_POLICY))
			add_spans(c, list->rules[i], resolution, &lower);
	}
	first_rules(&admin, &ruling->admin);
	first_rules(&lower, &ruling->lower);
	array_free(&admin);
	array_free(&lower);
}

static void ruling_free(struct ruling *ruling)
{
	array_free(&ruling->admin);
	array_free(&ruling->lower);
}

static void find_intervals(struct compiler *c, const struct rule_list *list, uint32_t resolution,
			   intervals_t *intervals)
{
	struct ruling enforced = {.view = enforced_view(list->isolation)};
	struct ruling whole = {.view = whole_view(list->isolation)};
	const bool audited = is_audited(c, list->isolation, list->rules, list->n);

	find_ruling(c, list, resolution, &enforced);
	if (audited)
		find_ruling(c, list, resolution, &whole);
	overlay(c, list->isolation, &enforced, audited ? &whole : NULL, intervals);
	ruling_free(&enforced);
	ruling_free(&whole);
}

struct bh_ports_ref ports_resolve(struct compiler *c, uint32_t rule_list, uint32_t resolution)
{
	const size_t before = c->interval_lists.entries.n;
	const struct rule_list list = rule_list_of(c, rule_list);
	intervals_t intervals = {0};
	struct bh_ports_ref ports = {0};
	numbers_t spans = {0};

	count_spans(c, &list, resolution, &spans);
	if (!budget_charge_spans(c, list.rules, spans.at, list.n, BUDGET_STEPS, UINT64_MAX)) {
		array_free(&spans);
		return ports;
	}
	find_intervals(c, &list, resolution, &intervals);
	if (intervals.n > BH_PORTS_MAX && !c->too_big &&
	    !budget_shorten_list(c, list.rules, spans.at, list.n, intervals.n))
		refuse_intervals(c, list.rules[0], intervals.n);
	ports = add_intervals(c, &intervals);
	if (c->interval_lists.entries.n > before)
		budget_charge_spans(c, list.rules, spans.at, list.n, BUDGET_INTERVALS, intervals.n);
	array_free(&spans);
	array_free(&intervals);
	return ports;
}

struct policy_key ports_list_key(struct compiler *c, uint32_t rule_list)
{
	const struct rule_list list = rule_list_of(c, rule_list);
	bytes_t bytes = {0};
	struct policy_key key;

	bytes_number(&bytes, isolation_enforced(list.isolation));
	for (size_t i = 0; i < list.n; i++)
		bytes_put(&bytes, &c->rules.at[list.rules[i]].key, sizeof(key));
	isolation_put(c, &bytes, list.isolation);
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key;
}

/* Returns the ID of a list whose ports depend on the destination's names. */
static uint32_t named_list(struct compiler *c, uint32_t rule_list)
{
	struct policy_key key = ports_list_key(c, rule_list);

	return lineage_list(c->lineage, &key);
}

uint32_t ports_collapse(struct compiler *c, uint32_t isolation, const uint32_t *rules, size_t n)
{
	numbers_t kept = {0};
	bool fresh, named = false;
	uint32_t number;

	if (!budget_charge_rules(c, rules, n, BUDGET_STEPS, 1))
		return INTERN_NONE;
	list_rules(c, isolation, rules, n, &kept);
	number = intern_add(&c->rule_lists, kept.at, kept.n * sizeof(*kept.at), &fresh);
	if (fresh) {
		struct verdict_list list = {.rules = number};

		for (size_t i = 1; i < kept.n; i++)
			named |= c->rules.at[kept.at[i]].n_names > 0;
		if (named)
			list.ports = (struct bh_ports_ref){named_list(c, number), BH_PORTS_NAMED};
		else
			list.ports = ports_resolve(c, number, 0);
		budget_charge_once(c, kept.at + 1, kept.n - 1, BUDGET_LISTS);
		array_push(&c->verdicts, list);
	}
	array_free(&kept);
	return number;
}
