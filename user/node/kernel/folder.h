/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pins of a folder are Bulkhead's: no command removes, or replaces, another program's. */
#ifndef BULKHEAD_NODE_FOLDER_H
#define BULKHEAD_NODE_FOLDER_H

#include "node/kernel/handle.h"

/* Whether the object that is pinned under @name is a map, a program or a link that a command pins
 * under that name. Returns 0 or -errno, reported. */
int folder_owns(const struct node_handle *host, const char *name, bool *own);

/*
 * Refuses a folder that Bulkhead neither made nor shares: one without our configuration in which
 * any pin is another program's. Touches nothing. Returns 0, -EINVAL (reported: the pin is named),
 * or another -errno, reported.
 */
int folder_check(const struct node_handle *host);

/* Removes our pins, the configuration last, since programs are told from others' by it. Other pins
 * stay. Returns 0 or -errno, reported. */
int folder_empty(const struct node_handle *host);

/* Removes the folder; one that holds others' pins stays, with a note. Returns 0 or -errno,
 * reported. */
int folder_remove(const struct node_handle *host);

#endif
