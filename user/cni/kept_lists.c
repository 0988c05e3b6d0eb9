// SPDX-License-Identifier: GPL-2.0-only
#include "cni/kept_lists.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cni/conflist.h"

/* A list in which the plugin is, or was. */
struct kept_list {
	char *name;
	struct json_object *own; /* the plugin's entry, as last seen */
};

struct kept_lists {
	const char *folder, *bin;
	struct diag *diag;
	int fd;
	struct kept_list *at;
	size_t n;
};

int kept_lists_fd(const struct kept_lists *lists)
{
	return lists->fd;
}

bool kept_lists_drain(struct kept_lists *lists)
{
	char events[4096];
	bool any = false;

	while (read(lists->fd, events, sizeof(events)) > 0)
		any = true;
	return any;
}

static struct kept_list *find(const struct kept_lists *lists, const char *name)
{
	for (size_t i = 0; i < lists->n; i++)
		if (!strcmp(lists->at[i].name, name))
			return &lists->at[i];
	return NULL;
}

/* Takes @own over. */
static void remember(struct kept_lists *lists, const char *name, struct json_object *own)
{
	struct kept_list *kept = find(lists, name);
	char *copy = kept ? NULL : strdup(name);
	void *grown = copy ? reallocarray(lists->at, lists->n + 1, sizeof(*lists->at)) : NULL;

	if (kept) {
		json_object_put(kept->own);
		kept->own = own;
		return;
	}
	if (!grown) {
		json_object_put(own);
		free(copy);
		return;
	}
	lists->at = grown;
	lists->at[lists->n++] = (struct kept_list){copy, own};
}

static int path_of(const struct kept_lists *lists, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", lists->folder, name) < PATH_MAX ? 0
										 : -ENAMETOOLONG;
}

/* Returns true if the list had the plugin, and lacks it. What cannot be read is being written. */
static bool is_lacking(struct kept_lists *lists, const char *name)
{
	struct json_object *own = NULL;
	char path[PATH_MAX];

	if (path_of(lists, name, path) || conflist_entry(path, &own))
		return false;
	if (own)
		remember(lists, name, own);
	return !own && find(lists, name);
}

static bool put_back(struct kept_lists *lists, const char *name)
{
	char path[PATH_MAX];

	if (path_of(lists, name, path) ||
	    conflist_put_back(path, find(lists, name)->own, lists->diag))
		return false;
	diag_warn(lists->diag, &(struct where){path, 0}, NULL,
		  "was written anew without bulkhead-cni, which is put back; pods that started "
		  "meanwhile were not guarded from their first packet");
	return true;
}

unsigned int kept_lists_look(struct kept_lists *lists, unsigned int most, unsigned int *lacking)
{
	struct dirent **entries = NULL;
	unsigned int done = 0;
	int n;

	*lacking = 0;
	n = conflist_has_link(lists->bin) ? scandir(lists->folder, &entries, NULL, alphasort) : 0;
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (conflist_is_name(name) && is_lacking(lists, name)) {
			if (done < most && put_back(lists, name))
				done++;
			else
				++*lacking;
		}
		free(entries[i]);
	}
	free(entries);
	return done;
}

int kept_lists_open(const char *folder, const char *bin, struct diag *diag,
		    struct kept_lists **opened)
{
	struct kept_lists *lists = calloc(1, sizeof(*lists));
	unsigned int lacking;
	int error = 0;

	if (!lists)
		return -ENOMEM;
	*lists = (struct kept_lists){.folder = folder, .bin = bin, .diag = diag};
	lists->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (lists->fd < 0 ||
	    inotify_add_watch(lists->fd, folder, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) < 0)
		error = -errno;
	if (error) {
		diag_warn(diag, &(struct where){folder, 0}, NULL, "cannot be watched: %s",
			  strerror(-error));
		kept_lists_close(lists);
		return error;
	}
	kept_lists_look(lists, 0, &lacking);
	*opened = lists;
	return 0;
}

void kept_lists_close(struct kept_lists *lists)
{
	if (!lists)
		return;
	if (lists->fd >= 0)
		close(lists->fd);
	for (size_t i = 0; i < lists->n; i++) {
		json_object_put(lists->at[i].own);
		free(lists->at[i].name);
	}
	free(lists->at);
	free(lists);
}
