// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <json-c/linkhash.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "api/known.h"
#include "api/key_table.h"

struct known {
	uint64_t version; /* a hash of its resourceVersion; 0: unlike any */
	/* number of the last list that had the object, or that had begun when the object came */
	uint32_t list;
};

static void free_known(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
	free(lh_entry_v(entry));
}

int api_known_open(struct api_known *known)
{
	known->table = lh_kchar_table_new(64, free_known);
	return known->table ? 0 : -ENOMEM;
}

void api_known_close(struct api_known *known)
{
	if (known->table)
		lh_table_free(known->table);
	known->table = NULL;
}

void api_known_begin(struct api_known *known)
{
	known->list++;
}

static uint64_t hash_of(const char *version)
{
	return version ? XXH3_64bits(version, strlen(version)) : 0;
}

static struct known *find(const struct api_known *known, const char *key)
{
	struct lh_entry *entry = lh_table_lookup_entry(known->table, key);

	return entry ? lh_entry_v(entry) : NULL;
}

static int add(struct api_known *known, const char *key, uint64_t version)
{
	struct known *object = malloc(sizeof(*object));
	char *copy = strdup(key);

	if (!object || !copy || lh_table_insert(known->table, copy, object)) {
		free(object);
		free(copy);
		return -ENOMEM;
	}
	*object = (struct known){version, known->list};
	known->met++;
	return 1;
}

int api_known_put(struct api_known *known, const char *key, const char *version)
{
	struct known *object = find(known, key);
	const uint64_t hash = hash_of(version);
	int is_new;

	if (!object)
		return add(known, key, hash);
	is_new = object->version != hash || !hash;
	known->met += object->list != known->list;
	*object = (struct known){hash, known->list};
	return is_new;
}

bool api_known_delete(struct api_known *known, const char *key)
{
	if (lh_table_delete(known->table, key))
		return false;
	api_table_deleted(&known->table, &known->deleted);
	return true;
}

void api_known_end(struct api_known *known, void (*gone)(void *data, const char *key), void *data)
{
	struct lh_entry *entry, *next;
	unsigned int n = 0;

	for (entry = known->table->head; entry; entry = next) {
		next = entry->next;
		if (((struct known *)lh_entry_v(entry))->list == known->list)
			continue;
		gone(data, lh_entry_k(entry));
		lh_table_delete_entry(known->table, entry);
		n++;
	}
	if (!n)
		return;
	known->deleted += n - 1;
	api_table_deleted(&known->table, &known->deleted);
}

void api_known_doubt(struct api_known *known, const char *key)
{
	struct known *object = find(known, key);

	if (object)
		object->version = 0;
}

void api_known_doubt_all(struct api_known *known)
{
	struct lh_entry *entry;

	for (entry = known->table->head; entry; entry = entry->next)
		((struct known *)lh_entry_v(entry))->version = 0;
}

bool api_known_has(const struct api_known *known, const char *key, const char *version)
{
	const struct known *object = find(known, key);

	return object && object->version == hash_of(version);
}

size_t api_known_count(const struct api_known *known)
{
	return lh_table_length(known->table);
}
