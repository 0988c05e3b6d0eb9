// SPDX-License-Identifier: GPL-2.0-only
/* The plugin's entry of a network's list, in a file beside the list. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cni/conflist.h"
#include "node/change/saved.h"
#include "node/kernel/handle.h"

#define KEPT ".bulkhead-kept"

static int path_of(const char *folder, const char *list, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/.%s" KEPT, folder, list) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

struct json_object *conflist_kept(const char *folder, const char *list)
{
	char path[PATH_MAX];
	struct json_object *own = NULL;

	if (!path_of(folder, list, path) && !access(path, R_OK))
		own = json_object_from_file(path);
	if (json_object_is_type(own, json_type_object))
		return own;
	json_object_put(own);
	return NULL;
}

int conflist_keep(const char *folder, const char *list, struct json_object *own)
{
	struct json_object *last = conflist_kept(folder, list);
	const bool same = last && json_object_equal(last, own);
	const char *text = json_object_to_json_string_ext(own, JSON_C_TO_STRING_PLAIN);
	const struct iovec part = {(void *)text, strlen(text)};
	SCOPED_FD int dir = -1;
	char path[PATH_MAX];

	json_object_put(last);
	if (same)
		return 0;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	return path_of("", list, path) ? -ENAMETOOLONG : saved_replace(dir, path + 1, &part, 1);
}

void conflist_forget(const char *folder, const char *list)
{
	char path[PATH_MAX];

	if (!path_of(folder, list, path))
		unlink(path);
}

void conflist_forget_all(const char *folder)
{
	struct dirent **entries = NULL;
	const int n = scandir(folder, &entries, NULL, NULL);

	for (int i = 0; i < n; i++) {
		char *name = entries[i]->d_name;
		const size_t length = strlen(name), end = strlen(KEPT);

		if (*name == '.' && length > end + 1 && !strcmp(name + length - end, KEPT)) {
			name[length - end] = '\0';
			conflist_forget(folder, name + 1);
		}
		free(entries[i]);
	}
	free(entries);
}
