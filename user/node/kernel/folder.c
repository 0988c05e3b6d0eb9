// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "node/kernel/attach.h"
#include "node/kernel/connections.h"
#include "node/kernel/folder.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/socket_link.h"

#define CONFIG "config"
#define LINK_PREFIX "tcx_"

static void cleanup_dir(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* Reads the kernel's information about a pinned object. Returns false if the object is of another
 * kind, or *error is set. */
static bool tell(int fd, void *info, uint32_t length, int *error)
{
	if (*error || bpf_obj_get_info_by_fd(fd, info, &length))
		*error = *error ? *error : -errno;
	return !*error;
}

static bool is_link(int fd, uint32_t type, int *error)
{
	struct bpf_link_info info = {};

	return tell(fd, &info, sizeof(info), error) && info.type == type;
}

/* The kernel keeps the first BPF_OBJ_NAME_LEN - 1 characters of a name. */
static bool is_program(int fd, const char *name, int *error)
{
	struct bpf_prog_info info = {};

	return tell(fd, &info, sizeof(info), error) && *info.name &&
	       !strncmp(info.name, name, BPF_OBJ_NAME_LEN - 1);
}

static bool is_any_program(int fd, int *error)
{
	for (size_t i = 0; i < N_NODE_PROGRAMS; i++)
		if (is_program(fd, node_program_names[i], error))
			return true;
	return false;
}

/* @name NULL: any name. */
static bool is_map(int fd, const char *name, int *error)
{
	struct bpf_map_info info = {};

	const char *pin = tell(fd, &info, sizeof(info), error) ? program_pin_name(info.name) : NULL;

	/* the kernel cuts a long name short */
	return pin && (!name ||
		       !strncmp(pin, name, BPF_OBJ_NAME_LEN - 1 - (pin - (const char *)info.name)));
}

static bool is_ours(int fd, const char *name, int *error)
{
	if (!strcmp(name, PINS_NEW))
		return is_map(fd, NULL, error) || is_any_program(fd, error) ||
		       is_link(fd, BPF_LINK_TYPE_NETNS, error);
	if (!strncmp(name, LINK_PREFIX, strlen(LINK_PREFIX)))
		return is_link(fd, LINK_TCX, error);
	if (!strcmp(name, SOCKET_LINK))
		return is_link(fd, BPF_LINK_TYPE_NETNS, error);
	for (size_t i = 0; i < N_NODE_PROGRAMS; i++)
		if (!strcmp(name, node_program_names[i]))
			return is_program(fd, name, error);
	if (!strcmp(name, CONNECTIONS_FORMER))
		return is_map(fd, CONNECTIONS, error);
	/* The stored policies are maps of one name. */
	return is_map(fd, strncmp(name, "blob_", strlen("blob_")) ? name : "blob", error);
}

int folder_owns(const struct node_handle *handle, const char *name, bool *own)
{
	SCOPED_FD int fd = pins_get(handle, name);
	int error = fd < 0 ? fd : 0;

	*own = !error && is_ours(fd, name, &error);
	/* no BPF object, or not readable */
	if (error == -ENOENT || error == -EACCES || error == -EPERM)
		return 0;
	return error ? node_fail(handle, error, "cannot look at %s/%s", handle->pin, name) : 0;
}

static DIR *open_folder(const struct node_handle *handle)
{
	DIR *folder = opendir(handle->pin);

	if (!folder)
		node_fail(handle, -errno, "cannot read %s", handle->pin);
	return folder;
}

static const char *next_name(DIR *folder)
{
	struct dirent *entry;

	do {
		entry = readdir(folder);
	} while (entry && entry->d_name[0] == '.');
	return entry ? entry->d_name : NULL;
}

int folder_check(const struct node_handle *handle)
{
	CLEANUP(cleanup_dir) DIR *folder = NULL;
	const char *name;
	bool own;
	int error = folder_owns(handle, CONFIG, &own);

	if (error || own)
		return error;
	folder = open_folder(handle);
	if (!folder)
		return -EIO;
	while ((name = next_name(folder))) {
		error = folder_owns(handle, name, &own);
		if (error)
			return error;
		if (!own)
			break;
	}
	if (!name)
		return 0;
	diag_error(handle->diag, NULL, NULL,
		   "%s holds %s, which is another program's: choose another folder by --pin "
		   "(nothing there was touched)",
		   handle->pin, name);
	return -EINVAL;
}

static int remove_own(const struct node_handle *handle, const char *name)
{
	bool own;
	int error = folder_owns(handle, name, &own);

	return error || !own ? error : pins_remove(handle, name);
}

int folder_empty(const struct node_handle *handle)
{
	CLEANUP(cleanup_dir) DIR *folder = open_folder(handle);
	const char *name;
	int error = 0;

	if (!folder)
		return -EIO;
	while (!error && (name = next_name(folder)))
		if (strcmp(name, CONFIG))
			error = remove_own(handle, name);
	return error ? error : remove_own(handle, CONFIG);
}

int folder_remove(const struct node_handle *handle)
{
	if (!rmdir(handle->pin))
		return 0;
	if (errno != ENOTEMPTY)
		return node_fail(handle, -errno, "cannot remove %s", handle->pin);
	diag_note(handle->diag, NULL, NULL, "%s stays: it holds another program's pins",
		  handle->pin);
	return 0;
}
