// SPDX-License-Identifier: GPL-2.0-only
/*
 * IDs through a lineage of policies. IDs only grow. A record that the base has under the same
 * key keeps its ID. An ID that is no longer used is never used again.
 *
 * The ID of a rule or audit record is used again once many were given: it decides nothing, and each
 * node has a counter for every ID that was ever given (maps/rule_hit.h). A tenant who makes
 * policies of ever new names would fill the memory of all nodes.
 */
#include "compile/compiler.h"
#include "maps/blob.h"

/* IDs of rules and audit records that are given before one is given again. Their counters take
 * 1 MiB for each processor. */
#define RULES_LEAST (1u << 17)

/* A lineage ends so many IDs before those of nodes: no compile gives as many. */
#define ROOM_LEAST (1u << 24)

struct lineage {
	const struct policy *base;
	/* Keys, numbered: those of the base's records in their order, then new ones. */
	struct intern classes, lists, resolutions, rules, audits, segments;
	numbers_t class_ids, list_ids, resolution_ids, rule_ids, audit_ids, segment_ids;
	uint32_t next_own_audit; /* 0: audit records take the IDs after the rules' */
	uint32_t next_class, next_list, next_resolution, next_rule, next_segment;
	/* by ID: a rule or audit record has it. NULL: no ID is given again */
	bool *used;
	uint32_t n_used, n_free, cursor; /* the search for free ones goes on at `cursor` */
	bytes_t bytes;
};

static void know(struct intern *keys, numbers_t *ids, const void *key, size_t size, uint32_t id)
{
	bool fresh;

	intern_add(keys, key, size, &fresh);
	if (fresh)
		array_push(ids, id);
}

/* Notes which of the IDs are in use. */
static void note_used(struct lineage *lineage, const numbers_t *ids)
{
	for (size_t i = 0; i < ids->n; i++) {
		if (ids->at[i] >= lineage->n_used)
			continue;
		lineage->used[ids->at[i]] = true;
		lineage->n_free--;
	}
}

static void find_free(struct lineage *lineage)
{
	lineage->n_used = lineage->next_rule;
	lineage->used = grow_zeroed(lineage->n_used, sizeof(*lineage->used));
	lineage->used[0] = true;
	lineage->n_free = lineage->n_used - 1;
	note_used(lineage, &lineage->rule_ids);
	note_used(lineage, &lineage->audit_ids);
	/* seldom where the last policies have given IDs up */
	lineage->cursor = (uint32_t)(lineage->base->generation * 0x9e3779b1u) % lineage->n_used;
}

/* Returns true if most IDs of rules are of such as were in former policies only. */
static bool has_many_free(const struct lineage *lineage)
{
	return lineage->next_rule >= RULES_LEAST &&
	       lineage->next_rule / 2 > lineage->rule_ids.n + lineage->audit_ids.n;
}

/* Gives a rule or audit record its ID. */
static uint32_t next_rule(struct lineage *lineage)
{
	if (!has_many_free(lineage))
		return lineage->next_rule++;
	if (!lineage->used)
		find_free(lineage);
	if (!lineage->n_free)
		return lineage->next_rule++;
	while (lineage->used[lineage->cursor])
		lineage->cursor = (lineage->cursor + 1) % lineage->n_used;
	lineage->used[lineage->cursor] = true;
	lineage->n_free--;
	return lineage->cursor;
}

/* Returns the ID of the rule or audit record whose key is lineage->bytes. */
static uint32_t rule_id_of(struct lineage *lineage, struct intern *keys, numbers_t *ids)
{
	bool fresh;
	uint32_t number = intern_add(keys, lineage->bytes.at, lineage->bytes.n, &fresh);

	if (fresh)
		array_push(ids, next_rule(lineage));
	return ids->at[number];
}

static uint32_t id_of(struct intern *keys, numbers_t *ids, uint32_t *next, const void *key,
		      size_t size)
{
	bool fresh;
	uint32_t number = intern_add(keys, key, size, &fresh);

	if (fresh)
		array_push(ids, (*next)++);
	return ids->at[number];
}

static void put_rule(bytes_t *bytes, const char *policy, uint32_t tier, uint32_t kind,
		     uint32_t direction, uint32_t index, const char *name)
{
	bytes->n = 0;
	bytes_string(bytes, policy);
	bytes_number(bytes, tier << 16 | kind << 8 | direction);
	bytes_number(bytes, index);
	bytes_string(bytes, name);
}

static void begin_audit(bytes_t *bytes, uint32_t decides, uint32_t denies)
{
	bytes->n = 0;
	bytes_number(bytes, decides);
	bytes_number(bytes, denies);
}

static void know_audit(struct lineage *lineage, const struct policy *base,
		       const struct policy_audit *audit)
{
	begin_audit(&lineage->bytes, audit->decides, audit->denies);
	for (uint32_t i = 0; i < audit->policies.n; i++) {
		const char *name = policy_string(base, base->texts[audit->policies.at + i]);

		bytes_put(&lineage->bytes, name, strlen(name) + 1);
	}
	know(&lineage->audits, &lineage->audit_ids, lineage->bytes.at, lineage->bytes.n, audit->id);
}

static void know_base(struct lineage *lineage, const struct policy *base)
{
	lineage->next_class = base->next_class;
	lineage->next_list = base->next_list;
	lineage->next_resolution = base->next_resolution;
	lineage->next_rule = base->next_rule;
	lineage->next_segment = base->next_segment;
	for (size_t i = 0; i < base->n_classes; i++)
		know(&lineage->classes, &lineage->class_ids, &base->classes[i].key,
		     sizeof(struct policy_key), base->classes[i].id);
	for (size_t i = 0; i < base->n_lists; i++)
		know(&lineage->lists, &lineage->list_ids, &base->lists[i].key,
		     sizeof(struct policy_key), base->lists[i].id);
	for (size_t i = 0; i < base->n_resolutions; i++)
		know(&lineage->resolutions, &lineage->resolution_ids, &base->resolutions[i].key,
		     sizeof(struct policy_key), base->resolutions[i].id);
	for (size_t i = 0; i < base->n_rules; i++) {
		const struct policy_rule *rule = &base->rules[i];

		put_rule(&lineage->bytes, policy_string(base, rule->policy), rule->tier, rule->kind,
			 rule->direction, rule->index, policy_string(base, rule->name));
		know(&lineage->rules, &lineage->rule_ids, lineage->bytes.at, lineage->bytes.n,
		     rule->id);
	}
	for (size_t i = 0; i < base->n_audits; i++)
		know_audit(lineage, base, &base->audits[i]);
	/* a segment that the base marked deleted gets a new ID when it comes back */
	for (uint32_t i = 0; i < base->n_segments; i++)
		if (!base->segments[i].delete_generation)
			know(&lineage->segments, &lineage->segment_ids, &base->segments[i].key,
			     sizeof(struct policy_key), i);
}

struct lineage *lineage_open(const struct policy *base)
{
	struct lineage *lineage = grow_zeroed(1, sizeof(*lineage));

	lineage->base = base;
	lineage->next_class = lineage->next_list = lineage->next_resolution = 1;
	lineage->next_rule = lineage->next_segment = 1;
	if (base)
		know_base(lineage, base);
	return lineage;
}

bool lineage_is_used_up(const struct policy *base)
{
	static const uint32_t last = BH_IDS_LOCAL - ROOM_LEAST;

	return base->next_segment > last || base->next_class > last || base->next_list > last ||
	       base->next_resolution > last;
}

static void begin_at(uint32_t *next, uint32_t from)
{
	*next = *next > from ? *next : from;
}

void lineage_begin_at(struct lineage *lineage, uint32_t from)
{
	begin_at(&lineage->next_class, from);
	begin_at(&lineage->next_list, from);
	begin_at(&lineage->next_resolution, from);
	begin_at(&lineage->next_segment, from);
}

uint32_t lineage_class(struct lineage *lineage, const struct policy_key *key)
{
	return id_of(&lineage->classes, &lineage->class_ids, &lineage->next_class, key,
		     sizeof(*key));
}

uint32_t lineage_list(struct lineage *lineage, const struct policy_key *key)
{
	return id_of(&lineage->lists, &lineage->list_ids, &lineage->next_list, key, sizeof(*key));
}

uint32_t lineage_resolution(struct lineage *lineage, const struct policy_key *key)
{
	return id_of(&lineage->resolutions, &lineage->resolution_ids, &lineage->next_resolution,
		     key, sizeof(*key));
}

uint32_t lineage_rule(struct lineage *lineage, const struct plain_rule *rule)
{
	const struct policy_object *policy = rule->policy;
	bytes_t name = {0};
	uint32_t id;

	policy_name_put(&name, policy);
	put_rule(&lineage->bytes, (const char *)name.at, policy->tier, policy->kind,
		 rule->direction, rule->rule->index, rule->rule->name ? rule->rule->name : "");
	id = rule_id_of(lineage, &lineage->rules, &lineage->rule_ids);
	array_free(&name);
	return id;
}

uint32_t lineage_audit(struct lineage *lineage, const struct audit *audit, const bytes_t *names)
{
	begin_audit(&lineage->bytes, audit->decides, audit->denies);
	bytes_put(&lineage->bytes, names->at, names->n);
	if (!lineage->next_own_audit)
		return rule_id_of(lineage, &lineage->audits, &lineage->audit_ids);
	return id_of(&lineage->audits, &lineage->audit_ids, &lineage->next_own_audit,
		     lineage->bytes.at, lineage->bytes.n);
}

static void skip_audits(struct lineage *lineage, const struct policy *policy)
{
	const struct policy_audit *last = NULL;

	if (policy && policy->n_audits)
		last = &policy->audits[policy->n_audits - 1];
	if (last && last->id >= lineage->next_own_audit)
		lineage->next_own_audit = last->id + 1;
}

void lineage_extends(struct lineage *lineage, const struct policy *before)
{
	lineage->next_own_audit = BH_RULE_LOCAL;
	skip_audits(lineage, lineage->base);
	skip_audits(lineage, before);
}

uint32_t lineage_segment(struct lineage *lineage, const struct policy_key *key,
			 const struct policy_segment **old)
{
	uint32_t number = intern_find(&lineage->segments, key, sizeof(*key));

	*old = NULL;
	if (number == INTERN_NONE)
		return lineage->next_segment++;
	*old = &lineage->base->segments[lineage->segment_ids.at[number]];
	return (*old)->id;
}

uint32_t lineage_new_segment(struct lineage *lineage)
{
	return lineage->next_segment++;
}

void lineage_numbers(const struct lineage *lineage, struct policy *policy)
{
	policy->next_class = lineage->next_class;
	policy->next_list = lineage->next_list;
	policy->next_resolution = lineage->next_resolution;
	policy->next_rule = lineage->next_rule;
	policy->next_segment = lineage->next_segment;
}

void lineage_close(struct lineage *lineage)
{
	if (!lineage)
		return;
	intern_free(&lineage->classes);
	intern_free(&lineage->lists);
	intern_free(&lineage->resolutions);
	intern_free(&lineage->rules);
	intern_free(&lineage->audits);
	intern_free(&lineage->segments);
	array_free(&lineage->class_ids);
	array_free(&lineage->list_ids);
	array_free(&lineage->resolution_ids);
	array_free(&lineage->rule_ids);
	array_free(&lineage->audit_ids);
	array_free(&lineage->segment_ids);
	array_free(&lineage->bytes);
	free(lineage->used);
	free(lineage);
}
