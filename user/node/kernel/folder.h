/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds out which pins of a folder are Bulkhead's. No command removes or replaces another
 * program's pins. */
#ifndef BULKHEAD_NODE_FOLDER_H
#define BULKHEAD_NODE_FOLDER_H

#include "node/kernel/handle.h"

/* Returns true if the object pinned as @name is of the kind that a command pins under that name.
 * Returns 0 or -errno, reported. */
int folder_owns(const struct node_handle *handle, const char *name, bool *own);

/*
 * Refuses a folder in which others pin: a folder that lacks our configuration and has a pin of
 * another program. Changes nothing. Returns 0, -EINVAL, reported with the pin's name, or another
 * -errno, reported.
 */
int folder_check(const struct node_handle *handle);

/* Removes our pins; the configuration last, since our programs are told from others' by that map.
 * Other pins stay. Returns 0 or -errno, reported. */
int folder_empty(const struct node_handle *handle);

/* Removes the folder. A folder with pins of others stays, with a note. Returns 0 or -errno,
 * reported. */
int folder_remove(const struct node_handle *handle);

#endif
