/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is in which segment: the assignment words of endpoints and prefixes. A
 * key that is new, or about to go, holds what its cover (the prefix around it)
 * says, so that its coming and going changes nothing but at the flip.
 */
#ifndef BULKHEAD_NODE_ASSIGN_H
#define BULKHEAD_NODE_ASSIGN_H

#include "node/image.h"
#include "node/local.h"

/* A store to one of the words of an endpoint that is there; key: its address. */
struct assign_word {
	uint64_t word;
	uint32_t which;
};

struct assign {
	uint32_t generation; /* the one that the words are for: the one in force plus one */
	struct table endpoints; /* to be added */
	struct table words; /* to be stored, by address: struct assign_word */
	struct table moved; /* by address: the endpoint's host side or MAC changed */
	struct table prefixes; /* to be added or replaced */
	/* To be deleted after the flip. */
	struct table gone_endpoints, gone_added, gone_prefixes;
};

void assign_free(struct assign *assign);

/* What makes the maps say what @layout wants, from the next generation on. Wants the room that it
 * needs of the maps (replace.h). Returns 0 or -errno, reported. */
int assign_make(struct host *host, const struct image *have, const struct layout *layout,
		const struct local *local, struct assign *assign);

/* The same for what is not there yet and was not taken off; what is there stays as it is. */
int assign_make_more(struct host *host, const struct image *have, const struct layout *layout,
		     const struct local *local, struct assign *assign);

/* The word of an endpoint that is not in force: what the maps say of its address without it. */
uint64_t assign_cover(const struct host *host, const struct bh_addr *addr);

/* A store into an endpoint that is there, by the program that can. Returns 0 or -errno, not
 * reported; -ENOENT: it is not there. */
struct bh_assign;
int assign_store(struct host *host, int program, const struct bh_assign *request);

/* The steps, in this order. Each returns 0 or -errno, reported. */
int assign_stage(struct host *host, const struct assign *assign);
int assign_collect(struct host *host, const struct assign *assign);

/* Whether anything is to be staged. */
bool assign_is_empty(const struct assign *assign);

#endif
