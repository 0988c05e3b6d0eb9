// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <dirent.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "node/kernel/attach.h"
#include "node/kernel/orphans.h"
#include "node/kernel/program.h"

#define CONFIG "config"
#define XDP_NAME "xdp_uplink"
#define FIRST_BPFFS "/proc/1/root/sys/fs/bpf"
#define DEPTH 4 /* folders below the mount in which a pin folder may be */

/* The kernel keeps the first BPF_OBJ_NAME_LEN - 1 characters of a name. */
static bool has_our_name(const char *name)
{
	if (!strcmp(name, XDP_NAME))
		return true;
	for (size_t i = 0; i < N_NODE_PROGRAMS; i++)
		if (*name && !strncmp(name, node_program_names[i], BPF_OBJ_NAME_LEN - 1))
			return true;
	return false;
}

/* Returns the configuration map of a program that has one of our names; 0: it is none of ours, or
 * is gone. */
static uint32_t mark_of(uint32_t id)
{
	SCOPED_FD int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {};
	uint32_t length = sizeof(info), mark = 0;
	struct program program;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length) || !has_our_name(info.name) ||
	    program_read(fd, &program) || program_find_map(&program, CONFIG, &mark))
		return 0;
	return mark;
}

static bool is_map(const char *path, uint32_t id)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = bpf_obj_get(path);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) && info.id == id;
}

/* Returns true if a folder below @path pins the configuration map @mark. */
static bool is_pinned_below(const char *path, dev_t device, int depth, uint32_t mark)
{
	char below[PATH_MAX];
	DIR *folder = depth ? opendir(path) : NULL;
	struct dirent *entry;
	struct stat stat;
	bool pinned = false;

	while (folder && !pinned && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || snprintf(below, sizeof(below), "%s/%s", path,
							entry->d_name) >= (int)sizeof(below))
			continue;
		if (!strcmp(entry->d_name, CONFIG))
			pinned = is_map(below, mark);
		else if (!lstat(below, &stat) && S_ISDIR(stat.st_mode) && stat.st_dev == device)
			pinned = is_pinned_below(below, device, depth - 1, mark);
	}
	if (folder)
		closedir(folder);
	return pinned;
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}

/* Returns true if the bpffs of a pin folder, which may not exist, pins the map anywhere. */
static bool is_pinned_beside(const char *pin, uint32_t mark)
{
	char path[PATH_MAX], *slash;
	struct stat top;

	snprintf(path, sizeof(path), "%s", pin);
	if (!is_bpffs(path)) {
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	while (is_bpffs(path) && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (is_bpffs(path))
			continue;
		*slash = '/';
		return !stat(path, &top) && is_pinned_below(path, top.st_dev, DEPTH, mark);
	}
	return false;
}

/* Returns true if a TCX link runs a program on the map, in any network namespace. */
static bool is_linked(uint32_t mark)
{
	uint32_t id = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		SCOPED_FD int fd = bpf_link_get_fd_by_id(id);
		struct bpf_link_info info = {};
		uint32_t length = sizeof(info);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) &&
		    info.type == LINK_TCX && mark_of(info.prog_id) == mark)
			return true;
	}
	return false;
}

/* A link whose pin was removed a moment ago is still there: the kernel frees links later. */
#define LINK_TRIES 20
#define LINK_WAIT 10000 /* us */

uint32_t orphan_mark(const struct node_handle *handle, uint32_t program)
{
	const uint32_t mark = program ? mark_of(program) : 0;

	if (!mark || mark == handle->mark || is_pinned_beside(handle->pin, mark) ||
	    is_pinned_beside(FIRST_BPFFS, mark))
		return 0;
	for (int i = 0; i < LINK_TRIES; i++) {
		if (!is_linked(mark))
			return mark;
		usleep(LINK_WAIT);
	}
	return 0;
}
