/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pin folder: one for a node, on a bpffs, locked by a command that changes anything active. A
 * pin's name is a map's without `bh_`, or a program's.
 */
#ifndef BULKHEAD_NODE_PIN_FOLDER_H
#define BULKHEAD_NODE_PIN_FOLDER_H

#include "node/kernel/handle.h"

/* Takes the lock into handle->lock. It stays -1 if the folder does not exist and @create is
 * false. */
int pins_lock(struct node_handle *handle, bool create);

/* Returns true if a command holds the lock now. Does not wait. */
bool pins_are_locked(const struct node_handle *handle);

/* Writes the path of a pin into @path and returns it. */
const char *pins_path(const struct node_handle *handle, const char *name, char path[PATH_MAX]);

/* Pins an object under a name, in one step in place of the object that has the name. pins_put_map()
 * skips a map that is pinned already. Returns 0 or -errno, reported. */
#define PINS_NEW "new" /* name of the new pin until that step */
int pins_put(const struct node_handle *handle, const char *name, int fd);
int pins_put_map(const struct node_handle *handle, const char *name, int fd);

/* Returns the ID of the map that is pinned under a name; 0: none is. */
uint32_t pins_map_id(const struct node_handle *handle, const char *name);

/* Returns an fd; -ENOENT: there is no such pin; or another -errno. Reports nothing. */
int pins_get(const struct node_handle *handle, const char *name);
int pins_get_program(const struct node_handle *handle, enum node_program which);

/* Returns the kernel's information about a pinned program. The information is read once, and kept
 * until pins_open_maps() or pins_close(). Returns 0; -ENOENT: there is no such pin; or another
 * -errno, not reported. */
int pins_program(struct node_handle *handle, enum node_program which,
		 const struct program **program);

/*
 * Open the pins: the configuration, then the maps. A command that replaces maps moves one pin after
 * the other; until all pins are moved, the active maps are the maps that the pinned PROGRAM_INGRESS
 * uses (change/replace.h). Members without a pin stay NULL or -1. Return 0 or -errno, reported.
 * Pins of another ABI, and pins that are not what their names say, are refused and not changed.
 */
int pins_open_config(struct node_handle *handle);
int pins_open_maps(struct node_handle *handle);
void pins_close(struct node_handle *handle);

/* Removes a pin. Returns 0, also if there is none, or -errno, reported. */
int pins_remove(const struct node_handle *handle, const char *name);

#endif
