// SPDX-License-Identifier: GPL-2.0-only
/* Keeps the API server's objects as JSON text that input/ reads. Each object is checked alone when
 * it comes. */
#include "cluster/objects_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/key_table.h"
#include "policy/asides.h"
#include "input/input.h"
#include "model/arrays.h"

static void free_state(struct lh_entry *entry)
{
	struct object_state *kept = lh_entry_v(entry);

	free(kept->uid);
	free(kept->text);
	free(kept->why);
	free(kept->aside);
	free(kept->stand_in);
	free(kept->closed);
	json_object_put(kept->refused);
	free(kept);
	free(lh_entry_k(entry));
}

/* Changes */

static struct object_state *state_of(struct collection *collection, const char *key)
{
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, key);

	return entry ? lh_entry_v(entry) : NULL;
}

static struct object_state *keep(struct collection *collection, const char *key)
{
	struct object_state *kept = state_of(collection, key);
	char *copied;

	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	copied = strdup(key);
	if (kept)
		kept->early = !collection->objects->reading;
	if (!kept || !copied || lh_table_insert(collection->kept, copied, kept)) {
		free(kept);
		free(copied);
		return NULL;
	}
	return kept;
}

static void set_refused(struct objects *objects, struct object_state *kept,
			struct json_object *object, const char *why)
{
	if (!why && !kept->refused)
		return;
	objects->refused += !!why - !!kept->refused;
	json_object_put(kept->refused);
	free(kept->why);
	kept->refused = why ? objects_about(object) : NULL;
	kept->why = why ? strdup(why) : NULL;
	objects->faults++;
	objects->ops.refused(objects->data, object, why);
}

void objects_report_refused(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		for (; entry; entry = entry->next) {
			const struct object_state *kept = lh_entry_v(entry);

			if (kept->refused && kept->why)
				objects->ops.refused(objects->data, kept->refused, kept->why);
		}
	}
	contested_report(objects);
	objects_report_asides(objects);
}

/* Notes whether the object is isolated by its label. */
static void set_marked(struct objects *objects, struct object_state *kept, bool marked)
{
	const size_t before = objects->marked;

	objects->marked += marked - kept->marked;
	kept->marked = marked;
	/* the policies that isolate these come, or go */
	objects->since.others |= !before != !objects->marked;
}

static void object_deleted(void *data, const char *key)
{
	struct collection *collection = data;
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, key);
	const struct object_state *kept = entry ? lh_entry_v(entry) : NULL;

	if (!entry)
		return;
	collection->objects->refused -= !!kept->refused;
	collection->objects->aside -= !!kept->aside;
	collection->objects->faults += kept->refused || kept->aside;
	set_marked(collection->objects, lh_entry_v(entry), false);
	room_want(collection->objects, lh_entry_v(entry), 0);
	room_set(collection->objects, key, lh_entry_v(entry), 0);
	objects_note(collection, key);
	offenders_note(collection, key, NULL);
	lh_table_delete_entry(collection->kept, entry);
	api_table_deleted(&collection->kept, &collection->deleted);
	collection->objects->ops.changed(collection->objects->data);
}

/* Returns the state of the object. Another object by that name was deleted meanwhile, which a watch
 * does not tell if it begins anew. */
static struct object_state *begin_change(struct collection *collection, const char *key,
					 struct json_object *object)
{
	const char *uid = api_text(object, "metadata.uid");
	struct object_state *kept = state_of(collection, key);

	if (kept && strcmp(kept->uid ? kept->uid : "", uid ? uid : ""))
		object_deleted(collection, key);
	kept = keep(collection, key);
	if (kept && uid && !kept->uid)
		kept->uid = check_memory(strdup(uid));
	return kept;
}

/* Adds to the fault of a policy that nothing stands in for. */
static char *with_warning(char *why)
{
	char *text = NULL;

	if (!why || asprintf(&text,
			     "%s; its faults leave open what it selects: unless an earlier version "
			     "was accepted, nothing of it is enforced",
			     why) < 0)
		return why;
	free(why);
	return text;
}

/* Returns what counts in place of a refused Service or Namespace, to free. It has the addresses of
 * the refused Service: left out, they would be addresses outside, which a CIDR may allow. Or it has
 * the labels of the refused Namespace, by which administrators' policies select. Only if the former
 * version has the same ones does that count. @closed_of: makes what has them, and nothing else. */
static char *in_place_of_same(const struct object_state *kept, struct json_object *object,
			      const char *name,
			      char *(*closed_of)(struct json_object *object, const char *name))
{
	char *closed = closed_of(object, name), *was = NULL;
	struct json_object *former;

	if (kept->wants || !kept->text)
		return closed;
	former = json_tokener_parse(kept->text);
	was = former ? closed_of(former, name) : NULL;
	json_object_put(former);
	if (closed && was && strcmp(closed, was)) {
		free(was);
		return closed;
	}
	free(was);
	free(closed);
	return strdup(kept->text);
}

/* Returns what counts in place of a refused version, to free. *@bytes: what it takes. */
static char *in_place_of(const struct object_kind *kind, const struct object_state *kept,
			 struct json_object *object, const char *name, size_t *bytes)
{
	char *text;

	if (kind->part == PART_SERVICE)
		text = in_place_of_same(kept, object, name, objects_closed_service);
	else if (kind->part == PART_LABELLED)
		text = in_place_of_same(kept, object, name, objects_closed_namespace);
	else if (kind->part == PART_POD && kept->wants)
		text = NULL; /* the former version would have other addresses, or labels */
	else if (kept->text)
		text = strdup(kept->text);
	else
		text = kind->policy ? objects_isolating(kind, object, name) : NULL;
	*bytes = text && kept->text && !strcmp(text, kept->text) ? kept->bytes : 0;
	return text;
}

/* Returns why the text is refused, to free; NULL: it is accepted, and takes @bytes. */
static char *check(struct collection *collection, const char *key, struct object_state *kept,
		   const char *text, const char *name, size_t *bytes)
{
	struct objects *objects = collection->objects;
	char *why = NULL;

	room_want(objects, kept, 0);
	/* most updates of an object change nothing that is read */
	if (kept->text && !strcmp(kept->text, text)) {
		*bytes = kept->bytes;
		return NULL;
	}
	if (objects_check(text, name, &why, bytes))
		return why ? why : check_memory(strdup("no memory"));
	why = room_lacks(objects, key, name, kept, *bytes);
	if (why)
		room_want(objects, kept, *bytes);
	return why;
}

/* Returns why a Node is refused that has more than any node has, to free; NULL: it is not. Each
 * change of its addresses goes to all nodes, and its kubelet may write what and as often as it
 * likes. */
static char *why_large(const struct object_kind *kind, struct json_object *object, const char *text,
		       const char *name)
{
	struct json_object *addresses = api_get(object, "status.addresses");
	const size_t n = json_object_is_type(addresses, json_type_array)
				 ? json_object_array_length(addresses)
				 : 0;
	char *why = NULL;

	if (kind->part != PART_NODE)
		return NULL;
	if (n > NODE_ADDRESSES &&
	    asprintf(&why, "%s: status.addresses: it has %zu addresses, the limit is %u", name, n,
		     NODE_ADDRESSES) < 0)
		why = check_memory(NULL);
	if (!why && strlen(text) > NODE_BYTES &&
	    asprintf(&why,
		     "%s: metadata.labels: labels and addresses take %zu bytes, the limit is %u",
		     name, strlen(text), NODE_BYTES) < 0)
		why = check_memory(NULL);
	return why;
}

/* Returns true if the object is isolated by its label. */
static bool is_marked(const struct object_kind *kind, const char *text)
{
	/* JSON text may have a backslash before a slash, and json-c writes one */
	static const char label[] = "\"bulkhead.dev\\/closed\":";

	return (kind->part == PART_POD || kind->part == PART_LABELLED) && strstr(text, label);
}

/* Returns why an object is isolated that has the label of such objects; NULL: it has not. */
static char *why_marked(const struct object_kind *kind, const char *text, const char *name)
{
	const bool pod = kind->part == PART_POD;
	char *why = NULL;

	if (!is_marked(kind, text))
		return NULL;
	if (asprintf(&why,
		     "%s: metadata.labels: it is isolated: its labels%s take more than %u bytes, "
		     "or it has the label " CLOSED_LABEL,
		     name, pod ? " and port names" : "",
		     pod ? POD_BYTES : NAMESPACE_BYTES_OF_LABELS) < 0)
		why = check_memory(NULL);
	return why;
}

static void object_changed(void *data, const char *key, struct json_object *object)
{
	struct collection *collection = data;
	struct objects *objects = collection->objects;
	const struct object_kind *kind = collection->kind;
	char *text = objects_text(kind, object), *why, name[320];
	struct object_state *kept = begin_change(collection, key, object);
	size_t bytes = 0;
	bool same;

	if (!text || !kept) {
		free(text);
		return;
	}
	snprintf(name, sizeof(name), "%s %s", kind->name, key);
	why = why_large(kind, object, text, name);
	if (!why)
		why = check(collection, key, kept, text, name, &bytes);
	if (why) {
		free(text);
		text = in_place_of(kind, kept, object, name, &bytes);
		if (!text && kind->policy)
			why = with_warning(why);
	} else {
		why = why_marked(kind, text, name);
	}
	set_marked(objects, kept, text && is_marked(kind, text));
	set_refused(objects, kept, object, why);
	free(why);
	room_set(objects, key, kept, bytes);
	if (kept->text && text && !strcmp(kept->text, text)) {
		free(text);
		return;
	}
	free(kept->text);
	free(kept->stand_in);
	kept->text = text;
	kept->reading = 0;
	kept->stand_in = text && kind->policy && strlen(text) >= UNSEEN_BYTES
				 ? objects_isolating(kind, object, name)
				 : NULL;
	same = offenders_note(collection, key, kept);
	if (objects->ops.accepted && kind->policy && collection->synced && !kept->refused)
		objects->ops.accepted(objects->data, object);
	if (same)
		return;
	objects_note(collection, key);
	objects->ops.changed(objects->data);
}

static void collection_synced(void *data)
{
	struct collection *collection = data;

	if (collection->synced)
		return;
	collection->synced = true;
	collection->objects->ops.changed(collection->objects->data);
}

/* The rules of a policy: input/ reads them from the kept text. */
static const char *const lists_of_rules[] = {"ingress", "egress", NULL};

struct objects *objects_open(struct api *api, const struct objects_ops *ops, void *data)
{
	struct api_watch_ops watch_ops = {
		.changed = object_changed,
		.deleted = object_deleted,
		.synced = collection_synced,
		.turns = true,
	};
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->api = api;
	objects->ops = *ops;
	objects->data = data;
	objects->since.pods = lh_kchar_table_new(64, objects_free_key);
	objects->since.services = lh_kchar_table_new(16, objects_free_key);
	objects->since.needs_of = lh_kchar_table_new(64, objects_free_value);
	objects->since.held = lh_kchar_table_new(16, objects_free_key);
	objects->since.following = lh_kchar_table_new(16, objects_free_key);
	objects->claims = claims_open();
	if (!objects->since.pods || !objects->since.services || !objects->since.needs_of ||
	    !objects->since.held || !objects->since.following || !objects->claims ||
	    offenders_open(objects) || room_open(objects)) {
		objects_close(objects);
		return NULL;
	}
	for (size_t i = 0; i < N_KINDS; i++) {
		struct collection *collection = &objects->collections[i];

		collection->objects = objects;
		collection->kind = &object_kinds[i];
		collection->kept = lh_kchar_table_new(64, free_state);
		watch_ops.ordered = collection->kind->policy;
		watch_ops.lists = collection->kind->policy ? lists_of_rules : NULL;
		if (api)
			collection->watch =
				api_watch(api, object_kinds[i].path, NULL, &watch_ops, collection);
		if (!collection->kept || (api && !collection->watch)) {
			objects_close(objects);
			return NULL;
		}
	}
	return objects;
}

void objects_close(struct objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < N_KINDS; i++) {
		api_unwatch(objects->collections[i].watch);
		if (objects->collections[i].kept)
			lh_table_free(objects->collections[i].kept);
	}
	if (objects->since.pods)
		lh_table_free(objects->since.pods);
	if (objects->since.services)
		lh_table_free(objects->since.services);
	if (objects->since.needs_of)
		lh_table_free(objects->since.needs_of);
	if (objects->since.held)
		lh_table_free(objects->since.held);
	if (objects->since.following)
		lh_table_free(objects->since.following);
	objects_free_passing(&objects->since);
	if (objects->contested)
		lh_table_free(objects->contested);
	claims_close(objects->claims);
	objects_forget_read(objects);
	offenders_close(objects);
	room_close(objects);
	asides_free(objects->asides);
	free(objects);
}

static const struct object_kind *kind_of(struct json_object *object)
{
	const char *name = api_text(object, "kind"), *version = api_text(object, "apiVersion");

	for (size_t i = 0; name && version && i < N_KINDS; i++)
		if (!strcmp(object_kinds[i].name, name) &&
		    !strcmp(object_kinds[i].version, version))
			return &object_kinds[i];
	return NULL;
}

bool objects_take(struct objects *objects, const char *type, struct json_object *object)
{
	const struct object_kind *kind = kind_of(object);
	const char *ns = api_text(object, "metadata.namespace");
	const char *name = api_text(object, "metadata.name");
	struct collection *collection;
	char key[512];

	if (!kind || !name)
		return false;
	collection = &objects->collections[kind - object_kinds];
	snprintf(key, sizeof(key), "%s%s%s", ns ? ns : "", ns ? "/" : "", name);
	if (!strcmp(type, "DELETED"))
		object_deleted(collection, key);
	else
		object_changed(collection, key, object);
	return true;
}

bool objects_synced(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (!objects->collections[i].synced)
			return false;
	return true;
}

size_t objects_unread(const struct objects *objects, char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < N_KINDS; i++) {
		const struct api_watch *watch = objects->collections[i].watch;
		const char *versions = watch ? api_watch_unread(watch) : NULL;

		if (versions && !n++)
			snprintf(text, size, "%s: the server has %.100s alone, and %s is read",
				 object_kinds[i].name, versions, object_kinds[i].version);
	}
	return n;
}

size_t objects_refused(const struct objects *objects)
{
	return objects->refused + objects->lost;
}

size_t objects_count(const struct objects *objects)
{
	size_t n = 0;

	for (size_t i = 0; i < N_KINDS; i++)
		n += lh_table_length(objects->collections[i].kept);
	return n;
}

bool objects_have_node(const struct objects *objects, const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (!strcmp(object_kinds[i].name, "Node"))
			return lh_table_lookup_entry(objects->collections[i].kept, name);
	return false;
}
