// SPDX-License-Identifier: GPL-2.0-only
#include "model/intern.h"

#include <xxhash.h>

void intern_free(struct intern *intern)
{
	array_free(&intern->entries);
	array_free(&intern->bytes);
	free(intern->slots);
	memset(intern, 0, sizeof(*intern));
}

static void insert(struct intern *intern, uint32_t number)
{
	size_t slot = intern->entries.at[number].hash & intern->mask;

	while (intern->slots[slot])
		slot = (slot + 1) & intern->mask;
	intern->slots[slot] = number + 1;
}

static void make_room(struct intern *intern)
{
	size_t mask = intern->mask ? intern->mask * 2 + 1 : 63;
	uint32_t *slots;

	if (intern->slots && intern->entries.n * 2 < intern->mask)
		return;
	slots = grow_zeroed(mask + 1, sizeof(*slots));
	free(intern->slots);
	intern->slots = slots;
	intern->mask = mask;
	for (uint32_t i = 0; i < intern->entries.n; i++)
		insert(intern, i);
}

static uint32_t find_hashed(const struct intern *intern, const void *bytes, size_t size,
			    uint64_t hash)
{
	if (!intern->slots)
		return INTERN_NONE;
	for (size_t slot = hash & intern->mask; intern->slots[slot];
	     slot = (slot + 1) & intern->mask) {
		const struct intern_entry *entry = &intern->entries.at[intern->slots[slot] - 1];

		if (entry->hash == hash && entry->size == size &&
		    (!size || !memcmp(intern->bytes.at + entry->at, bytes, size)))
			return intern->slots[slot] - 1;
	}
	return INTERN_NONE;
}

uint32_t intern_find(const struct intern *intern, const void *bytes, size_t size)
{
	return find_hashed(intern, bytes, size, XXH3_64bits(bytes, size));
}

uint32_t intern_add(struct intern *intern, const void *bytes, size_t size, bool *fresh)
{
	uint64_t hash = XXH3_64bits(bytes, size);
	uint32_t number = find_hashed(intern, bytes, size, hash);

	if (fresh)
		*fresh = number == INTERN_NONE;
	if (number != INTERN_NONE)
		return number;
	make_room(intern);
	number = intern->entries.n;
	/* aligned, so that a set of numbers can be read in place */
	intern->bytes.n = (intern->bytes.n + 7) & ~(size_t)7;
	*array_add(&intern->entries) = (struct intern_entry){hash, intern->bytes.n, size};
	array_reserve(&intern->bytes, size + 8);
	if (size)
		memcpy(intern->bytes.at + intern->bytes.n, bytes, size);
	intern->bytes.n += size;
	insert(intern, number);
	return number;
}
