/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the plugin in the networks' lists in which it has been. A network's own program may write
 * its list anew, as at its start or update, and knows nothing of the plugin: pods that start then
 * are not guarded. A list gets the very entry back that it had, also if it was written while no
 * follower ran: the entry is kept in a file beside the list. A list that never had the plugin stays
 * as it is; so does one that `cni uninstall` changed, which removes that file, and so do all once
 * the link is gone by which runtimes find the plugin.
 */
#ifndef BULKHEAD_CNI_KEPT_LISTS_H
#define BULKHEAD_CNI_KEPT_LISTS_H

#include "model/diag.h"

struct kept_lists;

/* @folder: of the lists; @bin: of the runtimes' plugins. Returns 0 or -errno, reported. */
int kept_lists_open(const char *folder, const char *bin, struct diag *diag,
		    struct kept_lists **lists);
void kept_lists_close(struct kept_lists *lists); /* NULL is fine */

/* Can be read if the folder has changed; kept_lists_look() reads it. */
int kept_lists_fd(const struct kept_lists *lists);

/* Forgets what has changed in the folder so far. Returns true if a list has. */
bool kept_lists_drain(struct kept_lists *lists);

/* Puts the plugin back into @most lists at most. Returns into how many, and warns of each.
 * *lacking: how many lists lack it still. */
unsigned int kept_lists_look(struct kept_lists *lists, unsigned int most, unsigned int *lacking);

/* Returns false if the last look could not keep an entry, which it has warned of. */
bool kept_lists_are_kept(const struct kept_lists *lists);

#endif
