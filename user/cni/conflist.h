/* SPDX-License-Identifier: GPL-2.0-only */
/* A network's list of plugins, for the files of cni/. */
#ifndef BULKHEAD_CNI_CONFLIST_H
#define BULKHEAD_CNI_CONFLIST_H

#include <json-c/json.h>
#include <stdbool.h>

#include "model/diag.h"

/* Returns true if a file of that name is a list for runtimes. */
bool conflist_is_name(const char *name);

/* Sets *own to the plugin's entry in the list, to be put; NULL: the list has none. Returns 0 or
 * -errno, not reported. */
int conflist_entry(const char *path, struct json_object **own);

/* Adds the entry last, if the list has none of the plugin, in one step. Returns 0 or -errno,
 * reported. */
int conflist_put_back(const char *path, struct json_object *own, struct diag *diag);

/* A follower keeps the plugin's entry of a list in a file beside the list, by which it knows after
 * its start that the list had the plugin. conflist_kept() returns that entry, to be put; NULL: none
 * is kept. conflist_keep() returns 0 or -errno, not reported. */
struct json_object *conflist_kept(const char *folder, const char *list);
int conflist_keep(const char *folder, const char *list, struct json_object *own);
void conflist_forget(const char *folder, const char *list);
void conflist_forget_all(const char *folder);

/* Returns true if the folder of the runtimes' plugins has this one: `cni uninstall` removes it. */
bool conflist_has_link(const char *bin);

#endif
