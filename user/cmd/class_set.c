/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/class_set.h"

/* The numbers of pods of one namespace: in all kinds, and in the set that is printed. */
struct tally {
	const char *name; /* the name of a pod, whose first part up to the slash is the namespace */
	int length;
	size_t of_all, in_set;
};

struct class_set {
	const struct flow_classes *kinds;
	struct tally *at; /* sorted by namespace */
	size_t n;
	size_t of_all, in_set; /* numbers of pods */
	uint32_t *of_member; /* the tally of each pod, by index of kinds->members */
};

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	int order = strncmp(x->name, y->name, x->length < y->length ? x->length : y->length);

	return order ? order : x->length - y->length;
}

static struct tally tally_of(const struct flow_class_member *member)
{
	return (struct tally){.name = member->end.name, .length = strcspn(member->end.name, "/")};
}

static struct tally *find_tally(const struct class_set *set, const struct flow_class_member *member)
{
	return &set->at[set->of_member[member - set->kinds->members]];
}

static void count_all(struct class_set *set)
{
	const struct flow_classes *kinds = set->kinds;
	size_t n = 0;

	for (size_t i = 0; i < kinds->n_members; i++)
		if (!kinds->members[i].external)
			set->at[n++] = tally_of(&kinds->members[i]);
	set->of_all = n;
	if (n)
		qsort(set->at, n, sizeof(*set->at), compare_tallies);
	for (size_t i = 0; i < n; i++) {
		struct tally *last = set->n ? &set->at[set->n - 1] : NULL;

		if (last && !compare_tallies(last, &set->at[i])) {
			last->of_all++;
			continue;
		}
		set->at[set->n] = set->at[i];
		set->at[set->n++].of_all = 1;
	}
	for (size_t i = 0; i < kinds->n_members; i++) {
		struct tally key = tally_of(&kinds->members[i]), *found;

		if (kinds->members[i].external)
			continue;
		found = bsearch(&key, set->at, set->n, sizeof(key), compare_tallies);
		set->of_member[i] = found - set->at;
	}
}

struct class_set *class_set_open(const struct flow_classes *kinds)
{
	struct class_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->kinds = kinds;
	set->at = calloc(kinds->n_members + 1, sizeof(*set->at));
	set->of_member = calloc(kinds->n_members + 1, sizeof(*set->of_member));
	if (!set->at || !set->of_member) {
		class_set_close(set);
		return NULL;
	}
	count_all(set);
	return set;
}

void class_set_close(struct class_set *set)
{
	if (!set)
		return;
	free(set->at);
	free(set->of_member);
	free(set);
}

static void count_set(struct class_set *set, const uint32_t *at, size_t n)
{
	set->in_set = 0;
	for (size_t i = 0; i < set->n; i++)
		set->at[i].in_set = 0;
	for (size_t i = 0; i < n; i++) {
		const struct flow_class *kind = &set->kinds->at[at[i]];

		for (size_t k = 0; k < kind->n && !kind->members->external; k++) {
			find_tally(set, &kind->members[k])->in_set++;
			set->in_set++;
		}
	}
}

/* Collects items with ", " between them, as long as they fit the width. */
struct line {
	struct text *text;
	size_t width;
	size_t left_out, left_out_pods;
};

static void add_item(struct line *line, const char *item, size_t pods)
{
	size_t length = printbuf_length(line->text->buffer);

	if (line->width && length && length + strlen(item) + 2 > line->width) {
		line->left_out++;
		line->left_out_pods += pods;
		return;
	}
	text_add_listed(line->text, item);
}

static bool is_whole(const struct tally *tally)
{
	return tally->of_all > 1 && tally->in_set == tally->of_all;
}

/* Returns true if the items for whole namespaces name all members of the kind. */
static bool is_told(const struct class_set *set, const struct flow_class *kind)
{
	bool told = !kind->members->external;

	for (size_t i = 0; i < kind->n && told; i++)
		told = is_whole(find_tally(set, &kind->members[i]));
	return told;
}

static void add_namespaces(struct line *line, const struct class_set *set)
{
	char item[400];

	for (size_t i = 0; i < set->n; i++) {
		const struct tally *tally = &set->at[i];

		if (!is_whole(tally))
			continue;
		snprintf(item, sizeof(item), "all %zu pods of %.*s", tally->of_all, tally->length,
			 tally->name);
		add_item(line, item, tally->of_all);
	}
}

static void add_flow_classes(struct line *line, const struct class_set *set, const uint32_t *at,
			     size_t n)
{
	bool all = set->of_all > 1 && set->in_set == set->of_all;
	char item[1200];

	snprintf(item, sizeof(item), "all %zu pods", set->of_all);
	if (all)
		add_item(line, item, set->of_all);
	else
		add_namespaces(line, set);
	for (size_t i = 0; i < n; i++) {
		const struct flow_class *kind = &set->kinds->at[at[i]];

		if ((all && !kind->members->external) || is_told(set, kind))
			continue;
		flow_class_print(kind, item, sizeof(item));
		add_item(line, item, kind->members->external ? 0 : kind->n);
	}
}

void class_set_print(struct class_set *set, struct text *text, const uint32_t *at, size_t n,
		     size_t width)
{
	struct line line = {.text = text, .width = width > 40 ? width - 30 : width};
	char rest[80];

	text_clear(text);
	count_set(set, at, n);
	add_flow_classes(&line, set, at, n);
	if (line.left_out) {
		snprintf(rest, sizeof(rest), " and %zu more", line.left_out);
		text_add(text, rest);
	}
	if (line.left_out_pods) {
		snprintf(rest, sizeof(rest), " (%zu pods)", line.left_out_pods);
		text_add(text, rest);
	}
}

void flow_class_emit(struct emit *emit, const struct flow_class *kind)
{
	emit_object(emit, NULL);
	emit_text(emit, "name", kind->members->end.name);
	emit_number(emit, "members", kind->n);
	emit_array(emit, "pods");
	for (size_t i = 0; i < kind->n; i++)
		emit_text(emit, NULL, kind->members[i].end.name);
	emit_end(emit);
	emit_end(emit);
}

void class_set_emit(struct emit *emit, const char *key, const struct flow_classes *kinds,
		    const uint32_t *at, size_t n)
{
	emit_array(emit, key);
	for (size_t i = 0; i < n; i++)
		flow_class_emit(emit, &kinds->at[at[i]]);
	emit_end(emit);
}
