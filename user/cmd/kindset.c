/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kindset.h"

/* The pods of one namespace, in all kinds and in a set of them. */
struct tally {
	const char *name; /* of some pod, up to its slash */
	int length;
	size_t of_all, in_set;
};

struct tallies {
	struct tally *at; /* sorted by namespace */
	size_t n;
	size_t of_all, in_set; /* pods */
};

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	int order = strncmp(x->name, y->name, x->length < y->length ? x->length : y->length);

	return order ? order : x->length - y->length;
}

static struct tally tally_of(const struct kind_member *member)
{
	return (struct tally){.name = member->end.name, .length = strcspn(member->end.name, "/")};
}

static struct tally *find_tally(const struct tallies *tallies, const struct kind_member *member)
{
	struct tally key = tally_of(member);

	return bsearch(&key, tallies->at, tallies->n, sizeof(key), compare_tallies);
}

static void count_all(const struct kinds *kinds, struct tallies *tallies)
{
	size_t n = 0;

	for (size_t i = 0; i < kinds->n_members; i++)
		if (!kinds->members[i].external)
			tallies->at[n++] = tally_of(&kinds->members[i]);
	tallies->of_all = n;
	if (n)
		qsort(tallies->at, n, sizeof(*tallies->at), compare_tallies);
	for (size_t i = 0; i < n; i++) {
		struct tally *last = tallies->n ? &tallies->at[tallies->n - 1] : NULL;

		if (last && !compare_tallies(last, &tallies->at[i])) {
			last->of_all++;
			continue;
		}
		tallies->at[tallies->n] = tallies->at[i];
		tallies->at[tallies->n++].of_all = 1;
	}
}

static void count_set(const struct kinds *kinds, const uint32_t *at, size_t n,
		      struct tallies *tallies)
{
	for (size_t i = 0; i < n; i++) {
		const struct kind *kind = &kinds->at[at[i]];

		for (size_t k = 0; k < kind->n && !kind->members->external; k++) {
			find_tally(tallies, &kind->members[k])->in_set++;
			tallies->in_set++;
		}
	}
}

/* Items with ", " between them, as long as they fit. */
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

/* Whether a whole namespace tells of all of the kind's members. */
static bool is_told(const struct tallies *tallies, const struct kind *kind)
{
	bool told = !kind->members->external;

	for (size_t i = 0; i < kind->n && told; i++)
		told = is_whole(find_tally(tallies, &kind->members[i]));
	return told;
}

static void add_namespaces(struct line *line, const struct tallies *tallies)
{
	char item[400];

	for (size_t i = 0; i < tallies->n; i++) {
		const struct tally *tally = &tallies->at[i];

		if (!is_whole(tally))
			continue;
		snprintf(item, sizeof(item), "all %zu pods of %.*s", tally->of_all, tally->length,
			 tally->name);
		add_item(line, item, tally->of_all);
	}
}

static void add_kinds(struct line *line, const struct tallies *tallies, const struct kinds *kinds,
		      const uint32_t *at, size_t n)
{
	bool all = tallies->of_all > 1 && tallies->in_set == tallies->of_all;
	char item[1200];

	snprintf(item, sizeof(item), "all %zu pods", tallies->of_all);
	if (all)
		add_item(line, item, tallies->of_all);
	else
		add_namespaces(line, tallies);
	for (size_t i = 0; i < n; i++) {
		const struct kind *kind = &kinds->at[at[i]];

		if ((all && !kind->members->external) || is_told(tallies, kind))
			continue;
		kind_print(kind, item, sizeof(item));
		add_item(line, item, kind->members->external ? 0 : kind->n);
	}
}

void kindset_print(struct text *text, const struct kinds *kinds, const uint32_t *at, size_t n,
		   size_t width)
{
	struct tallies tallies = {.at = calloc(kinds->n_members + 1, sizeof(*tallies.at))};
	struct line line = {.text = text, .width = width > 40 ? width - 30 : width};
	char rest[80];

	text_clear(text);
	if (!tallies.at)
		return;
	count_all(kinds, &tallies);
	count_set(kinds, at, n, &tallies);
	add_kinds(&line, &tallies, kinds, at, n);
	if (line.left_out) {
		snprintf(rest, sizeof(rest), " and %zu more", line.left_out);
		text_add(text, rest);
	}
	if (line.left_out_pods) {
		snprintf(rest, sizeof(rest), " (%zu pods)", line.left_out_pods);
		text_add(text, rest);
	}
	free(tallies.at);
}

struct json_object *kind_json(const struct kind *kind, bool pods)
{
	struct json_object *object = json_object_new_object();
	struct json_object *members;

	json_add_text(object, "name", kind->members->end.name);
	json_add_number(object, "members", kind->n);
	if (!pods)
		return object;
	members = json_object_new_array_ext(kind->n);
	for (size_t i = 0; i < kind->n; i++)
		json_append_text(members, kind->members[i].end.name);
	json_add(object, "pods", members);
	return object;
}

struct json_object *kindset_json(const struct kinds *kinds, const uint32_t *at, size_t n, bool pods)
{
	struct json_object *array = json_object_new_array_ext(n);

	for (size_t i = 0; i < n; i++)
		json_object_array_add(array, kind_json(&kinds->at[at[i]], pods));
	return array;
}
