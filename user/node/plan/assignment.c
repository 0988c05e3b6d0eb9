// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "node/plan/assignment.h"

/* Returns true if two words lead to the same place. Their generations may differ. */
static bool same_place(uint64_t now, uint64_t to)
{
	return now && (uint32_t)now == (uint32_t)to;
}

/* Returns the word that leads to a place from @generation on, and where to store it. */
static struct assign_word next_word(uint32_t generation, const __u64 words[2], uint64_t to)
{
	const uint64_t now = bh_assignment_at(words[0], words[1], generation - 1);

	return (struct assign_word){
		.which = now && now == words[0],
		.word = bh_assignment(generation, bh_assignment_slot(to),
				      bh_assignment_variation(to)),
	};
}

bool assign_word_for(uint32_t generation, const __u64 words[2], uint64_t to,
		     struct assign_word *store)
{
	if (same_place(bh_assignment_at(words[0], words[1], generation - 1), to))
		return false;
	*store = next_word(generation, words, to);
	return true;
}

/* Returns the word with the variation that marks an endpoint as counting as its covering prefix. */
static uint64_t as_covering_prefix(uint64_t word)
{
	return word | bh_assignment(0, 0, BH_VARIATION_COVER);
}

/* Returns the word of an endpoint that is not active: its covering prefix's. */
static uint64_t word_of_covering_prefix(const struct node_handle *handle,
					const struct bh_addr *addr)
{
	const struct bh_prefix_key key = {.length = 128, .addr = *addr};
	struct bh_prefix prefix;
	uint64_t word;

	if (maps_lookup(handle, MAP_prefixes, &key, &prefix))
		return 0;
	word = bh_assignment_at(prefix.assignment[0], prefix.assignment[1],
				node_generation(handle));
	return word ? as_covering_prefix(word) : 0;
}

/* Returns the word of an endpoint that is about to go. If the interface stays guarded, the endpoint
 * may still send: it is isolated, and does not count as its covering prefix. */
static uint64_t leaving(const struct node_handle *handle, const struct bh_endpoint *entry,
			uint64_t covering_prefix)
{
	return handle->options->quarantine && entry->ifindex ? 0 : covering_prefix;
}

static int add_word(struct change *change, const struct bh_addr *addr,
		    const struct assign_word *word)
{
	const struct bh_assign request = {.addr = *addr, .which = word->which, .word = word->word};

	return table_add(&change->maps[MAP_endpoints].store, addr, &request);
}

int assign_host_side(const struct bh_addr *addr, const struct assign_word *word,
		     const struct bh_endpoint *want, struct change *change)
{
	struct bh_assign request = {.addr = *addr,
				    .which = BH_ASSIGN_HOST_SIDE | word->which,
				    .word = word->word,
				    .ifindex = want->ifindex};

	memcpy(request.mac, want->mac, sizeof(request.mac));
	return table_add(&change->maps[MAP_endpoints].store, addr, &request);
}

int assign_forget(const struct bh_addr *addr, const struct bh_endpoint *entry, uint32_t ifindex,
		  struct change *change)
{
	int error = 0;

	if (entry->ifindex == ifindex)
		return 0;
	if (!entry->ifindex)
		error = table_insert(&change->forget_former, addr, &ifindex);
	return error ? error : table_add(&change->forget, addr, NULL);
}

int assign_delete(struct node_handle *handle, const struct bh_addr *addr,
		  const struct bh_endpoint *entry, struct change *change)
{
	return assign_delete_to(handle, addr, entry, word_of_covering_prefix(handle, addr), change);
}

int assign_delete_to(struct node_handle *handle, const struct bh_addr *addr,
		     const struct bh_endpoint *entry, uint64_t covering_prefix,
		     struct change *change)
{
	const uint64_t to =
		leaving(handle, entry, covering_prefix ? as_covering_prefix(covering_prefix) : 0);
	const struct assign_word word =
		next_word(node_generation(handle) + 1, entry->assignment, to);
	int error = add_word(change, addr, &word);

	return error ? error : table_add(&change->maps[MAP_endpoints].deleted, addr, entry);
}

int assign_new(struct node_handle *handle, const struct bh_addr *addr,
	       const struct bh_endpoint *want, bool closed, struct change *change)
{
	struct bh_endpoint value = *want;
	struct assign_word store;

	value.assignment[0] = closed ? 0 : word_of_covering_prefix(handle, addr);
	if (assign_word_for(node_generation(handle) + 1, value.assignment, want->assignment[0],
			    &store))
		value.assignment[store.which] = store.word;
	return table_add(&change->maps[MAP_endpoints].put, addr, &value);
}

int assign_add(struct node_handle *handle, const struct bh_addr *addr,
	       const struct bh_endpoint *old, const struct bh_endpoint *want, struct change *change)
{
	const uint32_t generation = node_generation(handle) + 1;
	struct assign_word store;
	int error;

	if (!old)
		return assign_new(handle, addr, want, false, change);
	if (old->ifindex != want->ifindex || memcmp(old->mac, want->mac, sizeof(old->mac))) {
		store = next_word(generation, old->assignment, want->assignment[0]);
		error = assign_forget(addr, old, want->ifindex, change);
		return error ? error : assign_host_side(addr, &store, want, change);
	}
	return assign_word_for(generation, old->assignment, want->assignment[0], &store)
		       ? add_word(change, addr, &store)
		       : 0;
}
