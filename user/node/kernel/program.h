/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loaded program as the kernel tells of it: the maps that it works on, and
 * the constants that it was loaded with. Another build's constants may stand in
 * another order, so they are found by their names. Nothing here is reported.
 */
#ifndef BULKHEAD_NODE_PROGRAM_H
#define BULKHEAD_NODE_PROGRAM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program {
	uint32_t id;
	uint32_t n_maps;
	uint32_t maps[64]; /* IDs */
};

/* Which build a program is of, as its map of constants says: that does not change. */
struct build {
	uint32_t map; /* ID; 0: none was asked */
	uint64_t number; /* 0: of a time before there were any */
};

/* Whether the kernel has a function of this name for programs to call. */
bool program_kernel_has(const char *function);

/* Returns 0 or -errno; -EOVERFLOW, which the kernel never says here: it works on more maps than any
 * of ours does. */
int program_read(int fd, struct program *program);

/* Whether it works on the map of this ID. */
bool program_has(const struct program *program, uint32_t map);

/* An fd of a map by its ID, and its pin name; "": it is none of ours. Returns that or -errno. */
int program_open_map(uint32_t map, char pin[BPF_OBJ_NAME_LEN]);

/* The ID of the map that has this pin name; 0: it works on none. The kernel is asked of each of its
 * maps. Returns 0 or -errno. */
int program_find_map(const struct program *program, const char *pin, uint32_t *map);

struct constants {
	struct btf *btf;
	uint32_t map; /* ID */
	uint32_t section; /* in the BTF */
	unsigned char *bytes;
};

/* @but: of the maps that this one works on, none is looked at; NULL: all are. Returns 0 or -errno;
 * -ENOENT: it has none. */
int constants_read(const struct program *program, const struct program *but,
		   struct constants *constants);
void constants_free(struct constants *constants);

/* Writes a constant of that name and size; false: there is none. */
bool constants_get(const struct constants *constants, const char *name, void *value, size_t size);

/* What the kernel calls HZ: the programs count in jiffies. */
uint64_t program_jiffies_per_second(void);

#endif
