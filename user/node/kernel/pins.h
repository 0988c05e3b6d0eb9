/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pin folder: one a node, on a bpffs, locked by whoever changes what it
 * leads to. A name in it is a map's without `bh_`, or a program's.
 */
#ifndef BULKHEAD_NODE_PINS_H
#define BULKHEAD_NODE_PINS_H

#include "node/kernel/handle.h"

/* Takes the lock into host->lock. Without @create and without a folder it stays -1. */
int pins_lock(struct node_handle *host, bool create);

/* Whether a command has the lock now; asks without waiting. */
bool pins_are_locked(const struct node_handle *host);

/* Writes the path of a pin and returns it. */
const char *pins_path(const struct node_handle *host, const char *name, char path[PATH_MAX]);

/* Pins an object, in one step over what has that name; a map only if it is another one. Returns 0
 * or -errno, reported. */
#define PINS_NEW "new" /* its name before that step */
int pins_put(const struct node_handle *host, const char *name, int fd);
int pins_put_map(const struct node_handle *host, const char *name, int fd);

/* An fd, -ENOENT: no such pin, or another -errno. Reports nothing. */
int pins_get(const struct node_handle *host, const char *name);
int pins_get_program(const struct node_handle *host, enum node_program which);

/* What the kernel tells of a pinned program: it is asked once, until pins_open_maps() or
 * pins_close(). Returns 0 or -errno, not reported; -ENOENT: no such pin. */
int pins_program(struct node_handle *host, enum node_program which, const struct program **program);

/*
 * Opens what is pinned: the configuration, then the maps. A command that replaces maps moves one
 * pin after the other; until it is done, the maps are those that the pinned PROGRAM_INGRESS works
 * on (replace.h). What is not there stays NULL or -1. Returns 0, or -errno with the reason
 * reported: pins of another ABI, or pins that are not what their name says, are not touched.
 */
int pins_open_config(struct node_handle *host);
int pins_open_maps(struct node_handle *host);
void pins_close(struct node_handle *host);

/* Removes a pin. Returns 0 or -errno, reported; no such pin is 0. */
int pins_remove(const struct node_handle *host, const char *name);

#endif
