// SPDX-License-Identifier: GPL-2.0-only
/* Addresses that several of the kept objects name: which objects are told, and when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "compile/address_claims.h"
#include "model/arrays.h"

static void free_contested(struct lh_entry *entry)
{
	free(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

struct lh_table *contested_new(void)
{
	return check_memory(lh_kchar_table_new(16, free_contested));
}

/* An object may lose one address and keep another: the first loss is the reason. */
static void add(void *data, const struct contested *contested)
{
	struct lh_table *table = data;
	struct lh_entry *entry;
	char key[600], why[1800], *text;

	snprintf(key, sizeof(key), "%s %s%s%s", contested->kind, contested->ns ? contested->ns : "",
		 contested->ns ? "/" : "", contested->name);
	snprintf(why, sizeof(why), "%s: %s: %s", key, contested->field,
		 contested->why ? contested->why : "");
	entry = lh_table_lookup_entry(table, key);
	if (entry && (lh_entry_v(entry) || !contested->why))
		return;
	text = contested->why ? check_memory(strdup(why)) : NULL;
	if (entry)
		lh_entry_set_val(entry, text);
	else
		lh_table_insert(table, check_memory(strdup(key)), text);
}

static const char *why_of(struct lh_table *table, const char *key)
{
	struct lh_entry *entry = table ? lh_table_lookup_entry(table, key) : NULL;

	return entry ? lh_entry_v(entry) : NULL;
}

/* Tells of the object of "KIND KEY" if it is still there. */
static void tell(const struct objects *objects, const char *name, const char *why)
{
	const char *key = strchr(name, ' ') + 1;

	for (size_t i = 0; i < N_KINDS; i++) {
		const size_t length = strlen(object_kinds[i].name);
		struct lh_entry *entry = NULL;
		const struct object_state *kept;
		struct json_object *about;

		if (!strncmp(name, object_kinds[i].name, length) && name[length] == ' ')
			entry = lh_table_lookup_entry(objects->collections[i].kept, key);
		kept = entry ? lh_entry_v(entry) : NULL;
		if (!kept || !kept->text)
			continue;
		about = objects_about_kept(&object_kinds[i], key, kept);
		objects->ops.refused(objects->data, about, why);
		json_object_put(about);
	}
}

bool objects_contest(const struct objects *objects, const char *pod)
{
	char name[512];

	snprintf(name, sizeof(name), "Pod %s", pod);
	return objects->contested && lh_table_lookup_entry(objects->contested, name);
}

void contested_report(const struct objects *objects)
{
	struct lh_entry *entry = objects->contested ? objects->contested->head : NULL;

	for (; entry; entry = entry->next)
		if (lh_entry_v(entry))
			tell(objects, lh_entry_k(entry), lh_entry_v(entry));
}

void contested_set(struct objects *objects, struct lh_table *table)
{
	struct lh_table *last = objects->contested;
	struct lh_entry *entry;

	objects->contested = table;
	objects->lost = 0;
	for (entry = last ? last->head : NULL; entry; entry = entry->next)
		if (lh_entry_v(entry) && !why_of(table, lh_entry_k(entry)))
			tell(objects, lh_entry_k(entry), NULL);
	for (entry = table->head; entry; entry = entry->next) {
		const char *why = lh_entry_v(entry), *former = why_of(last, lh_entry_k(entry));

		objects->lost += !!why;
		if (why && (!former || strcmp(why, former)))
			tell(objects, lh_entry_k(entry), why);
	}
	if (last)
		lh_table_free(last);
}

/* A node that speaks of Pods. */
struct speaker {
	struct objects *objects;
	char node[300]; /* as its Pods' texts name it */
};

/* Notes a Pod for the next compile if it is one of @node; NULL: of any. */
static void note_pod(struct objects *objects, const char *pod, const char *node)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		const struct lh_entry *entry =
			kind_is_pod(&object_kinds[i])
				? lh_table_lookup_entry(objects->collections[i].kept, pod)
				: NULL;
		const struct object_state *kept = entry ? lh_entry_v(entry) : NULL;

		if (!kept || (node && !(kept->text && strstr(kept->text, node))))
			continue;
		objects_note(&objects->collections[i], pod);
		objects->ops.changed(objects->data);
	}
}

/* The engine ignores what a node reports of other nodes' Pods, and compiles nothing for it: a node
 * that lies may report thousands, again and again. */
static void concerns(void *data, const char *pod)
{
	const struct speaker *speaker = data;

	note_pod(speaker->objects, pod, speaker->node);
}

void objects_left(struct objects *objects, const char *node, struct json_object *left)
{
	struct speaker speaker = {.objects = objects};

	snprintf(speaker.node, sizeof(speaker.node), "\"nodeName\":\"%s\"", node);
	claims_note(objects->claims, node, left, concerns, &speaker);
}

/* Addresses that pass from one Pod to another */

static void hold(void *data, const char *pod, const char *node, const struct address *address)
{
	struct since *since = data;
	struct passing *passing;

	if (!lh_table_lookup_entry(since->held, pod))
		lh_table_insert(since->held, check_memory(strdup(pod)), NULL);
	passing = array_grow((void **)&since->passing, &since->n_passing, sizeof(*passing));
	*passing = (struct passing){*address, check_memory(strdup(node ? node : ""))};
}

static void free_passing(struct passing **passing, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*passing)[i].node);
	free(*passing);
	*passing = NULL;
	*n = 0;
}

void objects_free_passing(struct since *since)
{
	free_passing(&since->passing, &since->n_passing);
	free_passing(&since->passed, &since->n_passed);
}

void objects_keep_passing(struct since *since)
{
	free_passing(&since->passed, &since->n_passed);
	since->passed = since->passing;
	since->n_passed = since->n_passing;
	since->passing = NULL;
	since->n_passing = 0;
}

void objects_resolve_claims(struct objects *objects, struct cluster *cluster,
			    const struct policy *base, struct lh_table *contested)
{
	struct since *since = &objects->since;
	struct lh_table *held = since->held;
	struct former_owners former = {.base = base};

	if (since_is(since, base)) {
		former.passing = since->passed;
		former.n_passing = since->n_passed;
	}
	free_passing(&since->passing, &since->n_passing);
	while (held->head)
		lh_table_delete_entry(held, held->head);
	claims_leave(objects->claims, cluster);
	if (contested)
		address_claims_resolve(cluster, &former, add, contested);
	if (objects->ops.two_steps && base)
		claims_pass(cluster, base, hold, since);
}

void objects_note_held(struct objects *objects)
{
	struct lh_entry *entry;

	for (entry = objects->since.held->head; entry; entry = entry->next)
		note_pod(objects, lh_entry_k(entry), NULL);
}
