/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assignment words of endpoints and prefixes. A key that is about to come or to go holds the word
 * of its covering prefix, the shorter prefix around it, so that nothing changes for packets but at
 * the commit.
 */
#ifndef BULKHEAD_NODE_ASSIGNMENT_H
#define BULKHEAD_NODE_ASSIGNMENT_H

#include "node/plan/change.h"

struct bh_endpoint;

/* A word to store into an entry of the maps, in place of assignment[which]. */
struct assign_word {
	uint64_t word;
	uint32_t which;
};

/*
 * Makes the word that puts a key at @to from @generation on, and chooses which of the key's two
 * words to replace. Returns false if the key is at @to already.
 */
bool assign_word_for(uint32_t generation, const __u64 words[2], uint64_t to,
		     struct assign_word *store);

/*
 * assign_delete() deletes an endpoint of the maps, which counts as its covering prefix from the
 * next generation on. assign_delete_to() does the same if the covering prefix moves:
 * @covering_prefix is its new place. They return 0 or -ENOMEM.
 */
int assign_delete(struct node_handle *handle, const struct bh_addr *addr,
		  const struct bh_endpoint *entry, struct change *change);
int assign_delete_to(struct node_handle *handle, const struct bh_addr *addr,
		     const struct bh_endpoint *entry, uint64_t covering_prefix,
		     struct change *change);

/*
 * Forgets the connections of an endpoint's address if the address gets another interface: then its
 * next owner inherits none. If the former owner is of another node, its connections are forgotten
 * before the commit, too: the programs do not tell them from those of an address that was nobody's,
 * which go on, so they would be the next owner's if the command were killed after the commit.
 * @entry: the address's entry in the maps; @ifindex: 0: none of this node. Returns 0 or -ENOMEM.
 */
int assign_forget(const struct bh_addr *addr, const struct bh_endpoint *entry, uint32_t ifindex,
		  struct change *change);

/* Stores a word of an endpoint, and with it the interface and MAC of @want. Until the word's
 * generation is active, a repair takes both back. Returns 0 or -ENOMEM. */
int assign_host_side(const struct bh_addr *addr, const struct assign_word *word,
		     const struct bh_endpoint *want, struct change *change);

/* Adds an endpoint that is as @want says (assignment[0]: its place) from the next generation on.
 * Until then it counts as its covering prefix, or is isolated if @closed. Returns 0 or -ENOMEM. */
int assign_new(struct node_handle *handle, const struct bh_addr *addr,
	       const struct bh_endpoint *want, bool closed, struct change *change);

/* Makes an endpoint be as @want says (assignment[0]: its place) from the next generation on. @old:
 * the endpoint's entry in the maps; NULL: none. If the interface is another one, the address
 * belongs to another sandbox, and its connections are forgotten. Returns 0 or -ENOMEM. */
int assign_add(struct node_handle *handle, const struct bh_addr *addr,
	       const struct bh_endpoint *old, const struct bh_endpoint *want,
	       struct change *change);

#endif
