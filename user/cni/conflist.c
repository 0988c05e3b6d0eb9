// SPDX-License-Identifier: GPL-2.0-only
/* Changes a network's list of plugins: writes the new list beside it, and replaces it in one
 * step. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cni/conflist.h"
#include "cni/invocation.h"
#include "node/kernel/handle.h"

#define SUFFIX ".conflist"

bool conflist_is_name(const char *name)
{
	const size_t length = strlen(name), suffix = strlen(SUFFIX);

	return *name != '.' && length > suffix && !strcmp(name + length - suffix, SUFFIX);
}

/* Returns the first list by name, as runtimes choose it; NULL: there is none. */
static char *find_first(const char *folder)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, NULL, alphasort);
	char *path = NULL;

	for (int i = 0; i < n; i++) {
		if (!path && conflist_is_name(entries[i]->d_name) &&
		    asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			path = NULL;
		free(entries[i]);
	}
	free(entries);
	return path;
}

/* Runtimes also take these for networks. */
static bool is_network(const char *name)
{
	const char *suffix = strrchr(name, '.');

	return suffix && suffix != name &&
	       (!strcmp(suffix, ".conf") || !strcmp(suffix, ".conflist") ||
		!strcmp(suffix, ".json"));
}

/* Warns of a network that comes before the list by name: most runtimes take the first network. */
static void warn_of_earlier(const char *path, const char *folder, struct diag *diag)
{
	const char *list = path + strlen(folder) + 1;
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, NULL, alphasort);
	bool warned = false;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (!warned && is_network(name) && strcmp(name, list) < 0) {
			diag_warn(diag, &(struct where){path, 0}, NULL,
				  "%s comes before it by name, and a runtime that takes the first "
				  "network does not call " CNI_NAME "; name the network's list",
				  name);
			warned = true;
		}
		free(entries[i]);
	}
	free(entries);
}

static int choose(const struct cni_install *install, struct diag *diag, char **path)
{
	const char *folder = install->folder ? install->folder : CNI_CONF_FOLDER;

	*path = install->path ? strdup(install->path) : find_first(folder);
	if (*path)
		return 0;
	diag_error(diag, NULL, NULL, "%s has no file *" SUFFIX ": name one", folder);
	return -EINVAL;
}

static int read_list(const char *path, struct diag *diag, struct json_object **list,
		     struct json_object **plugins)
{
	const struct where where = {.file = path};

	if (access(path, R_OK)) {
		const int error = -errno;

		diag_error(diag, &where, NULL, "cannot be read: %s", strerror(-error));
		return error == -ENOENT ? -EINVAL : error;
	}
	*list = json_object_from_file(path);
	if (!*list || !json_object_is_type(*list, json_type_object)) {
		diag_error(diag, &where, NULL, "is no JSON object");
		return -EINVAL;
	}
	*plugins = cni_member(*list, "plugins", json_type_array);
	if (*plugins && json_object_array_length(*plugins))
		return 0;
	diag_error(diag, &where, "plugins",
		   "missing, or not a list; only a list of plugins takes one more");
	return -EINVAL;
}

/* Returns true if the plugin understands a version in which the list may be used. A list may name
 * others beside its own. */
static bool is_understood(struct json_object *list)
{
	struct json_object *others = cni_member(list, "cniVersions", json_type_array);
	const char *version = cni_text(list, "cniVersion");

	if (version && cni_knows_version(CNI_ADD, version))
		return true;
	for (size_t i = 0; others && i < json_object_array_length(others); i++) {
		version = json_object_get_string(json_object_array_get_idx(others, i));
		if (version && cni_knows_version(CNI_ADD, version))
			return true;
	}
	return false;
}

/* Refuses a list in which the plugin would refuse every call. */
static int check_version(const char *path, struct json_object *list, struct diag *diag)
{
	const struct where where = {.file = path};
	const char *version = cni_text(list, "cniVersion");

	if (is_understood(list))
		return 0;
	diag_error(diag, &where, "cniVersion", "is %s; " CNI_NAME " understands %s to %s",
		   version ? version : "missing", cni_versions[0], cni_versions[CNI_VERSIONS - 1]);
	return -EINVAL;
}

static int sync_text(int fd, const char *text)
{
	const size_t length = strlen(text);
	const ssize_t n = write(fd, text, length);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)length)
		return -ENOSPC;
	return fsync(fd) ? -errno : 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Replaces the file, and keeps its owner and mode. Returns 0, -EAGAIN: another program has changed
 * the file meanwhile; or another -errno. */
static int replace_file(const char *path, const char *text)
{
	SCOPED_FREE char *copy = strdup(path), *name = strdup(path), *next = NULL;
	SCOPED_FD int fd = -1;
	struct stat was, now;
	int error = 0;

	if (!copy || !name || asprintf(&next, "%s/.%s.XXXXXX", dirname(copy), basename(name)) < 0)
		return -ENOMEM;
	fd = mkstemp(next);
	if (fd < 0)
		return -errno;
	if (stat(path, &was) || fchmod(fd, was.st_mode & 07777) ||
	    fchown(fd, was.st_uid, was.st_gid))
		error = -errno;
	if (!error)
		error = sync_text(fd, text);
	if (!error && (stat(path, &now) || !is_same(&was, &now)))
		error = -EAGAIN;
	if (!error && rename(next, path))
		error = -errno;
	if (error)
		unlink(next);
	return error;
}

static int write_list(const char *path, struct json_object *list, struct diag *diag)
{
	const int flags =
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
	const struct where where = {.file = path};
	SCOPED_FREE char *text = NULL;
	int error = 0;

	if (asprintf(&text, "%s\n", json_object_to_json_string_ext(list, flags)) < 0)
		return -ENOMEM;
	error = replace_file(path, text);
	if (error)
		diag_error(diag, &where, NULL, "cannot be written: %s", strerror(-error));
	return error;
}

/* Returns the index of the plugin in the list; the list's length: it is not there. */
static size_t find_own(struct json_object *plugins)
{
	size_t i = 0;

	for (; i < json_object_array_length(plugins); i++) {
		const char *type = cni_text(json_object_array_get_idx(plugins, i), "type");

		if (type && !strcmp(type, CNI_NAME))
			break;
	}
	return i;
}

static struct json_object *make_own(const struct cni_install *install)
{
	struct json_object *own = json_object_new_object();
	struct json_object *capabilities;

	json_object_object_add(own, "type", json_object_new_string(CNI_NAME));
	if (install->pin)
		json_object_object_add(own, "pin", json_object_new_string(install->pin));
	if (install->admit)
		json_object_object_add(own, "unknown", json_object_new_string("admit"));
	if (install->trust) {
		json_object_object_add(own, "trust", json_tokener_parse(install->trust));
		capabilities = json_object_new_object();
		json_object_object_add(capabilities, "io.kubernetes.cri.pod-annotations",
				       json_object_new_boolean(true));
		json_object_object_add(own, "capabilities", capabilities);
	}
	return own;
}

/* Keeps the members of the plugin's former entry that no option gives, as a file for the log. */
static void keep_others(struct json_object *own, struct json_object *former)
{
	static const char *const given[] = {"type", "pin", "unknown", "trust", "capabilities"};

	json_object_object_foreach(former, key, value)
	{
		bool keep = true;

		for (size_t i = 0; i < ARRAY_SIZE(given); i++)
			keep &= strcmp(key, given[i]) != 0;
		if (keep)
			json_object_object_add(own, key, json_object_get(value));
	}
}

/* Makes the link in the folder where runtimes look for plugins. A file that is no link stays, with
 * a warning. */
static int link_program(const struct cni_install *install, struct diag *diag, bool *changed)
{
	SCOPED_FREE char *path = NULL, *next = NULL;
	char there[PATH_MAX];
	ssize_t n;

	if (asprintf(&path, "%s/" CNI_NAME, install->bin) < 0 ||
	    asprintf(&next, "%s/." CNI_NAME ".new", install->bin) < 0)
		return -ENOMEM;
	n = readlink(path, there, sizeof(there) - 1);
	if (n < 0 && errno == EINVAL) {
		diag_warn(diag, NULL, NULL,
			  "%s is no link to this program: runtimes call that file, of whatever "
			  "version it is; remove it and install again",
			  path);
		return 0;
	}
	there[n < 0 ? 0 : n] = '\0';
	if (!strcmp(there, install->program))
		return 0;
	unlink(next);
	if (symlink(install->program, next) || rename(next, path)) {
		const int error = -errno;

		diag_error(diag, NULL, NULL, "cannot make the link %s: %s", path, strerror(-error));
		return error;
	}
	*changed = true;
	return 0;
}

int cni_install(const struct cni_install *install, struct diag *diag, char **path, bool *changed)
{
	struct json_object *list = NULL, *plugins = NULL, *own = make_own(install);
	size_t at;
	int error = choose(install, diag, path);

	*changed = false;
	if (!error)
		error = read_list(*path, diag, &list, &plugins);
	if (!error)
		error = check_version(*path, list, diag);
	if (!error && !install->path)
		warn_of_earlier(*path, install->folder ? install->folder : CNI_CONF_FOLDER, diag);
	if (!error)
		error = link_program(install, diag, changed);
	if (!error) {
		at = find_own(plugins);
		if (at < json_object_array_length(plugins))
			keep_others(own, json_object_array_get_idx(plugins, at));
		if (at == json_object_array_length(plugins) ||
		    !json_object_equal(json_object_array_get_idx(plugins, at), own)) {
			json_object_array_put_idx(plugins, at, json_object_get(own));
			error = write_list(*path, list, diag);
			*changed = true;
		}
	}
	json_object_put(own);
	json_object_put(list);
	return error;
}

static int unlink_program(const struct cni_install *install, struct diag *diag, bool *changed)
{
	SCOPED_FREE char *path = NULL;
	char there[PATH_MAX];

	if (asprintf(&path, "%s/" CNI_NAME, install->bin) < 0)
		return -ENOMEM;
	if (readlink(path, there, sizeof(there)) < 0)
		return 0;
	if (unlink(path)) {
		const int error = -errno;

		diag_error(diag, NULL, NULL, "cannot remove %s: %s", path, strerror(-error));
		return error;
	}
	*changed = true;
	return 0;
}

int conflist_entry(const char *path, struct json_object **own)
{
	struct json_object *list = NULL, *plugins = NULL;
	struct diag quiet = {};
	int error = read_list(path, &quiet, &list, &plugins);

	if (!error)
		*own = json_object_get(json_object_array_get_idx(plugins, find_own(plugins)));
	json_object_put(list);
	return error;
}

int conflist_put_back(const char *path, struct json_object *own, struct diag *diag)
{
	struct json_object *list = NULL, *plugins = NULL;
	int error = read_list(path, diag, &list, &plugins);

	if (!error)
		error = check_version(path, list, diag);
	if (!error && find_own(plugins) == json_object_array_length(plugins)) {
		json_object_array_add(plugins, json_object_get(own));
		error = write_list(path, list, diag);
	}
	json_object_put(list);
	return error;
}

bool conflist_has_link(const char *bin)
{
	char path[PATH_MAX];
	struct stat there;

	return snprintf(path, sizeof(path), "%s/" CNI_NAME, bin) < (int)sizeof(path) &&
	       !lstat(path, &there);
}

/* Returns true if another network's list in the folder has the plugin. */
static bool is_used(const char *folder, const char *but)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, NULL, alphasort);
	bool used = false;

	for (int i = 0; i < n; i++) {
		struct diag quiet = {};
		struct json_object *list = NULL, *plugins = NULL;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (conflist_is_name(entries[i]->d_name) && strcmp(path, but) &&
		    !read_list(path, &quiet, &list, &plugins))
			used |= find_own(plugins) < json_object_array_length(plugins);
		json_object_put(list);
		free(entries[i]);
	}
	free(entries);
	return used;
}

static void forget(const char *path)
{
	SCOPED_FREE char *copy = strdup(path), *name = strdup(path);

	if (copy && name)
		conflist_forget(dirname(copy), basename(name));
}

/* Removes the plugin from the list. */
static int uninstall_list(const char *path, struct diag *diag, bool *changed)
{
	struct json_object *list = NULL, *plugins = NULL;
	bool found = false;
	size_t at;
	int error = read_list(path, diag, &list, &plugins);

	while (!error && (at = find_own(plugins)) < json_object_array_length(plugins)) {
		json_object_array_del_idx(plugins, at, 1);
		found = true;
	}
	if (found)
		error = write_list(path, list, diag);
	if (!error)
		forget(path);
	*changed |= found;
	json_object_put(list);
	return error;
}

int cni_uninstall(const struct cni_install *install, struct diag *diag, char **path, bool *changed)
{
	SCOPED_FREE char *copy = NULL;
	const char *folder;
	int error = choose(install, diag, path);

	*changed = false;
	if (!error)
		error = uninstall_list(*path, diag, changed);
	copy = *path ? strdup(*path) : NULL;
	folder = copy ? dirname(copy) : NULL;
	if (error || !folder || is_used(folder, *path))
		return error;
	conflist_forget_all(folder);
	return unlink_program(install, diag, changed);
}

/* Returns true if runtimes find this program by the link. */
static bool is_linked(const struct cni_install *install)
{
	char path[PATH_MAX], there[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/" CNI_NAME, install->bin) >= (int)sizeof(path))
		return false;
	n = readlink(path, there, sizeof(there) - 1);
	there[n < 0 ? 0 : n] = '\0';
	return !strcmp(there, install->program);
}

int cni_uninstall_all(const struct cni_install *install, struct diag *diag, bool *changed)
{
	const char *folder = install->folder ? install->folder : CNI_CONF_FOLDER;
	struct dirent **entries = NULL;
	int error = 0, n;

	*changed = false;
	if (!is_linked(install))
		return 0;
	n = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		struct diag quiet = {};
		struct json_object *list = NULL, *plugins = NULL;
		char path[PATH_MAX];

		/* a list that cannot be read is no list that has the plugin */
		if (conflist_is_name(entries[i]->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) <
			    (int)sizeof(path) &&
		    !read_list(path, &quiet, &list, &plugins) && !error)
			error = uninstall_list(path, diag, changed);
		json_object_put(list);
		free(entries[i]);
	}
	free(entries);
	if (error)
		return error;
	conflist_forget_all(folder);
	return unlink_program(install, diag, changed);
}
