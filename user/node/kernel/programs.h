/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF programs and their maps: made and pinned by the first load, found by
 * their pins ever after, and replaced by a load whose programs or sizes are
 * others (replace.h).
 */
#ifndef BULKHEAD_NODE_PROGRAMS_H
#define BULKHEAD_NODE_PROGRAMS_H

#include "node/kernel/handle.h"

/* Entries of maps that are to be made anew; 0: the pinned map stays. */
struct room {
	uint32_t entries[N_NODE_MAPS];
	size_t needs[N_NODE_MAPS]; /* how many of them will be used */
	uint32_t rule_hits;
	bool first; /* maps of this node's interfaces are no smaller than they are defined */
};

/* How large a map of so many entries is made: with room for what changes bring. */
uint32_t programs_headroom(size_t need);

/* Programs that are loaded, on maps that are pinned or made with them. */
struct bh_tc;
struct bh_loader;
struct programs {
	struct bh_tc *tc;
	struct bh_loader *loader;
};

/* Loads this command's programs. A map is the pinned one of its name, unless there is none or @room
 * wants a new one. Returns 0 or -errno, reported. */
int programs_load(struct node_handle *host, const struct room *room, struct programs *programs);
void programs_free(struct programs *programs);

/* The map of this pin name, -1: there is none. Of @programs: to be closed with them. */
int programs_map(const struct programs *programs, const char *pin);

/* Runs the program that adds to a rule's hits. Returns 0 or -errno, not reported. */
struct bh_add_hits;
int programs_add_hits(const struct programs *programs, struct bh_add_hits *request);

/* Pins them over those that are pinned, PROGRAM_INGRESS first, and then the maps that were made.
 * Returns 0 or -errno, reported. */
int programs_pin(struct node_handle *host, const struct programs *programs);

/* Lets each map of @object be the pinned one of its name, if there is one. Returns 0 or -errno,
 * reported. */
struct bpf_object;
int programs_share_maps(struct node_handle *host, struct bpf_object *object);

/* Whether the pinned programs are of this command's build. Returns 0 or -errno, reported. */
int programs_are_own(struct node_handle *host, bool *own);

/* Whether a program works on the maps that PROGRAM_INGRESS does, and is of the same build or of
 * this command's. */
bool programs_is_current(struct node_handle *host, const struct program *program);

/* Whether a program works on the maps of this pin folder. @id 0 is none. Returns 0 or -errno, not
 * reported: what cannot be told is not to be taken for another's. */
int programs_is_ours(struct node_handle *host, uint32_t id, bool *ours);

#endif
