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

struct kept_lists {
	const char *folder, *bin;
	struct diag *diag;
	int fd;
	bool unkept; /* the last look could not keep an entry */
};

int kept_lists_fd(const struct kept_lists *lists)
{
	return lists->fd;
}

bool kept_lists_drain(struct kept_lists *lists)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;
	ssize_t n;

	while ((n = read(lists->fd, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (void *)(events + at);

			/* without a name some events were lost; others are of this process's own
			 * files */
			any |= !event->len || conflist_is_name(event->name);
			at += sizeof(*event) + event->len;
		}
	return any;
}

/* @warned: that an entry cannot be kept. Returns true if it is kept. */
static bool keep(const struct kept_lists *lists, const char *name, struct json_object *own,
		 bool warned)
{
	const int error = conflist_keep(lists->folder, name, own);

	if (error && !warned)
		diag_warn(lists->diag, &(struct where){lists->folder, 0}, NULL,
			  "cannot be written, so bulkhead-cni cannot be put back into %s: %s", name,
			  strerror(-error));
	return !error;
}

static int path_of(const struct kept_lists *lists, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", lists->folder, name) < PATH_MAX ? 0
										 : -ENAMETOOLONG;
}

/* Returns the entry that the list had, to be put, if it lacks the plugin; NULL: it does not. What
 * cannot be read is being written. */
static struct json_object *find_lacking(struct kept_lists *lists, const char *name, bool warned)
{
	struct json_object *own = NULL;
	char path[PATH_MAX];

	if (path_of(lists, name, path) || conflist_entry(path, &own))
		return NULL;
	if (!own)
		return conflist_kept(lists->folder, name);
	lists->unkept |= !keep(lists, name, own, warned || lists->unkept);
	json_object_put(own);
	return NULL;
}

static bool put_back(struct kept_lists *lists, const char *name, struct json_object *own)
{
	char path[PATH_MAX];

	if (path_of(lists, name, path) || conflist_put_back(path, own, lists->diag))
		return false;
	diag_warn(lists->diag, &(struct where){path, 0}, NULL,
		  "was written anew without bulkhead-cni, which is put back; pods that started "
		  "meanwhile were not guarded from their first packet");
	return true;
}

unsigned int kept_lists_look(struct kept_lists *lists, unsigned int most, unsigned int *lacking)
{
	const bool warned = lists->unkept;
	struct dirent **entries = NULL;
	unsigned int done = 0;
	int n;

	*lacking = 0;
	lists->unkept = false;
	n = conflist_has_link(lists->bin) ? scandir(lists->folder, &entries, NULL, alphasort) : 0;
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		struct json_object *own =
			conflist_is_name(name) ? find_lacking(lists, name, warned) : NULL;

		if (own && done < most && put_back(lists, name, own))
			done++;
		else
			*lacking += !!own;
		json_object_put(own);
		free(entries[i]);
	}
	free(entries);
	return done;
}

bool kept_lists_are_kept(const struct kept_lists *lists)
{
	return !lists->unkept;
}

int kept_lists_open(const char *folder, const char *bin, struct diag *diag,
		    struct kept_lists **opened)
{
	struct kept_lists *lists = calloc(1, sizeof(*lists));
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
	*opened = lists;
	return 0;
}

void kept_lists_close(struct kept_lists *lists)
{
	if (!lists)
		return;
	if (lists->fd >= 0)
		close(lists->fd);
	free(lists);
}
