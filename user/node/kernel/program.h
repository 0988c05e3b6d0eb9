/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's description of a loaded program: the maps that it uses, and the constants that it
 * was loaded with. Another build may order constants in another way, so they are found by name.
 * These functions report no error.
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

/* The build that a program is of, as the program's map of constants says, which never changes. */
struct build {
	uint32_t map; /* ID of the map of constants; 0: not read yet */
	uint64_t number; /* 0: an old build without a number */
};

/* Returns true if the kernel, or a loaded module, has a function of this name in its BTF. */
bool program_kernel_has(const char *function);

/* Returns 0 or -errno. -EOVERFLOW, which the kernel does not use here: the program uses more
 * maps than ours do. */
int program_read(int fd, struct program *program);

/* The kernel's names of our maps begin so: bh_<pin name>; at_<name>, also the pin's name: the place
 * of the active map (active_map.h). */
#define PROGRAM_MAP "bh_"
#define PROGRAM_PLACE "at_"

/* Returns the pin name of a map of ours, by the kernel's name of the map; NULL: it is none of
 * ours. */
const char *program_pin_name(const char *name);

/* Returns true if the program uses the map with this ID. */
bool program_has(const struct program *program, uint32_t map);

/* Opens a map by its ID. @pin gets its pin name; "": it is none of ours. Returns an fd or
 * -errno. */
int program_open_map(uint32_t map, char pin[BPF_OBJ_NAME_LEN]);

/* Finds the program's map with this pin name; 0: it uses none. Asks the kernel about each of its
 * maps. Returns 0 or -errno. */
int program_find_map(const struct program *program, const char *pin, uint32_t *map);

struct constants {
	struct btf *btf;
	uint32_t map; /* ID */
	uint32_t section; /* in the BTF */
	unsigned char *bytes;
};

/* Reads the program's constants. Skips maps that @but uses as well (NULL: none). Returns 0 or
 * -errno; -ENOENT: the program has none. */
int constants_read(const struct program *program, const struct program *but,
		   struct constants *constants);
void constants_free(struct constants *constants);

/* Reads a constant of that name and size. Returns false if there is none. */
bool constants_get(const struct constants *constants, const char *name, void *value, size_t size);

/* Returns the kernel's HZ. The programs count in jiffies. */
uint64_t program_jiffies_per_second(void);

/* Returns the tick of a time so many seconds ago, as the programs count ticks. */
uint32_t program_tick_before(unsigned int seconds);

#endif
