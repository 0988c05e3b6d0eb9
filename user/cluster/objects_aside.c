// SPDX-License-Identifier: GPL-2.0-only
/* Policies, Namespaces and Services that the last compile of all objects set aside, since they were
 * over a budget (compile/budget.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "policy/asides.h"

/* @key: "NAMESPACE/NAME", or "NAME". */
static struct aside *find(const struct asides *asides, const struct object_kind *kind,
			  const char *key)
{
	const char *slash = strchr(key, '/');
	char ns[256];

	snprintf(ns, sizeof(ns), "%.*s", slash ? (int)(slash - key) : 0, key);
	return asides_find(asides, kind->name, ns, slash ? slash + 1 : key);
}

static void set_aside(struct objects *objects, const struct object_kind *kind, const char *key,
		      struct object_state *kept)
{
	struct aside *aside = find(objects->asides, kind, key);
	char *why = NULL;

	if (offenders_hide(objects, kind, key, kept))
		return;
	if (aside && asprintf(&why, "%s: %s", aside->effect, aside->why) < 0)
		why = NULL;
	objects_set_aside(objects, kind, key, kept, why);
	offenders_set(objects, kind, key, kept, aside && aside->nameless);
	/* once it is compiled itself again, its budgets are checked anew */
	if (aside && kept->closed)
		aside->stays = false;
}

void objects_note_asides(struct objects *objects, struct asides *asides)
{
	/* the places were in a cluster that is freed */
	for (size_t i = 0; asides && i < asides->n; i++)
		asides->at[i].where = (struct where){0};
	asides_free(objects->asides);
	objects->asides = asides;
	for (size_t i = 0; i < N_KINDS; i++) {
		const struct collection *collection = &objects->collections[i];
		struct lh_entry *entry = collection->kept->head;

		if (!collection->kind->policy && strcmp(collection->kind->name, "Service") &&
		    strcmp(collection->kind->name, "Namespace"))
			continue;
		for (; entry; entry = entry->next)
			set_aside(objects, collection->kind, lh_entry_k(entry), lh_entry_v(entry));
	}
	offenders_end(objects);
}

void objects_report_asides(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		for (; entry; entry = entry->next)
			if (((struct object_state *)lh_entry_v(entry))->aside)
				objects_report_aside(objects, &object_kinds[i], lh_entry_k(entry),
						     lh_entry_v(entry));
	}
}

size_t objects_aside(const struct objects *objects)
{
	return objects->aside;
}

uint64_t objects_faults(const struct objects *objects)
{
	return objects->faults;
}

bool objects_first_fault(const struct objects *objects, char *text, size_t size)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		const struct collection *collection = &objects->collections[i];
		struct lh_entry *entry = collection->kept->head;

		for (; entry; entry = entry->next) {
			const struct object_state *kept = lh_entry_v(entry);
			const char *why = kept->refused ? kept->why : kept->aside;

			if (!why)
				continue;
			snprintf(text, size, "%s %.160s is %s%.250s", collection->kind->name,
				 (const char *)lh_entry_k(entry),
				 kept->refused ? "refused: " : "set aside, and ", why);
			return true;
		}
	}
	return false;
}

bool objects_is_aside(const struct objects *objects, struct json_object *object)
{
	const char *kind = api_text(object, "kind"), *name = api_text(object, "metadata.name");
	const char *ns = api_text(object, "metadata.namespace");
	char key[512];

	snprintf(key, sizeof(key), "%s%s%s", ns ? ns : "", ns ? "/" : "", name ? name : "");
	for (size_t i = 0; kind && i < N_KINDS; i++) {
		const struct lh_entry *entry =
			strcmp(object_kinds[i].name, kind)
				? NULL
				: lh_table_lookup_entry(objects->collections[i].kept, key);

		if (entry && ((struct object_state *)lh_entry_v(entry))->aside)
			return true;
	}
	return false;
}
