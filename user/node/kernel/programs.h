/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF programs and their maps. The first load makes and pins them. Later commands find them
 * by their pins. A load with other programs or sizes replaces them (change/replace.h).
 */
#ifndef BULKHEAD_NODE_PROGRAMS_H
#define BULKHEAD_NODE_PROGRAMS_H

#include "node/kernel/handle.h"

struct bh_tc;
struct bh_loader;
struct bpf_object;

/* Sizes, in entries, of maps that are to be made; 0: the pinned map stays. */
struct capacity {
	uint32_t entries[N_NODE_MAPS];
	size_t needs[N_NODE_MAPS]; /* entries that will be in use */
	uint32_t rules; /* for which there is to be room in the maps of hits (rule_hits.h) */
	uint32_t connections; /* of the table of connections, not its buckets */
	bool first; /* maps about interfaces are at least as large as their definitions */
};

/* Loaded programs, with maps that are pinned or new. */
struct programs {
	struct bh_tc *tc;
	struct bh_loader *loader;
};

/* Loads this command's programs. They use the pinned maps, and new ones if there is no pin or
 * @capacity wants one. Returns 0 or -errno, reported. */
int programs_load(struct node_handle *handle, const struct capacity *capacity,
		  struct programs *programs);

/* Reports the sizes of the maps of @capacity: most often the kernel had no memory for them. */
void programs_print_capacity(struct node_handle *handle, const struct capacity *capacity);
void programs_free(struct programs *programs);

/* Returns the fd of the map with this pin name; -1: there is none. It is closed with @programs. */
int programs_map(const struct programs *programs, const char *pin);

/* Pins the programs over those that are pinned, PROGRAM_INGRESS first, then the new maps.
 * Returns 0 or -errno, reported. */
int programs_pin(struct node_handle *handle, const struct programs *programs);

/* Calls @visit for each map of the pinned programs that has no pin, with the pin's name and an fd
 * of the map, until @visit fails. Returns 0 or -errno, reported. */
typedef int program_unpinned(void *data, const char *pin, int fd);
int programs_unpinned(struct node_handle *handle, program_unpinned *visit, void *data);

/* Pins each map of the pinned programs that has no pin, and reports it. Returns 0 or -errno,
 * reported. */
int programs_pin_again(struct node_handle *handle);

/* Makes each map of @object reuse the pinned map of the same name, if one is pinned. Returns 0
 * or -errno, reported. */
int programs_share_maps(struct node_handle *handle, struct bpf_object *object);

/* Returns true if the pinned programs are of this command's build. Returns 0 or -errno,
 * reported. */
int programs_are_own(struct node_handle *handle, bool *own);

/* Returns true if a program uses the maps of PROGRAM_INGRESS, and is of the same build or this
 * command's. */
bool programs_is_current(struct node_handle *handle, const struct program *program);

/* Returns true if a program uses the maps of this pin folder. @id 0 is none. Returns 0 or -errno,
 * not reported: a program that cannot be identified must not be taken for another's. */
int programs_is_ours(struct node_handle *handle, uint32_t id, bool *ours);

#endif
