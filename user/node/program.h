/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loaded program as the kernel tells of it: the maps that it works on, and
 * the constants that it was loaded with. Another build's constants may stand in
 * another order, so they are found by their names.
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
	struct {
		uint32_t id;
		char name[BPF_OBJ_NAME_LEN];
	} maps[64];
};

/* Returns 0 or -errno, not reported. */
int program_read(int fd, struct program *program);

/* The pin name of a map that it works on; NULL: it is none of ours. */
const char *program_pin(const struct program *program, uint32_t map);

/* The ID of the map that has this pin name; 0: it works on none. */
uint32_t program_map(const struct program *program, const char *pin);

struct constants {
	struct btf *btf;
	uint32_t section; /* in it */
	unsigned char *bytes;
};

/* Returns 0 or -errno, not reported; -ENOENT: it has none. */
int constants_read(const struct program *program, struct constants *constants);
void constants_free(struct constants *constants);

/* Writes a constant of that name and size; false: there is none. */
bool constants_get(const struct constants *constants, const char *name, void *value, size_t size);

#endif
