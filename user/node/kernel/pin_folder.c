// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "maps/abi.h"
#include "node/kernel/active_map.h"
#include "node/kernel/folder.h"
#include "node/kernel/folder_lock.h"
#include "node/kernel/mount.h"
#include "node/kernel/pin_folder.h"

#define BPFFS "/sys/fs/bpf"

static int refuse_folder(const struct node_handle *handle)
{
	diag_error(handle->diag, NULL, NULL, "%s is not on a bpffs: choose a folder below " BPFFS,
		   handle->pin);
	return -EINVAL;
}

/* Fails if the folder, or the nearest one above it that exists, is not on a bpffs. */
static int check_folder(const struct node_handle *handle)
{
	char path[PATH_MAX];
	const char *folder = path;
	struct statfs fs;

	snprintf(path, sizeof(path), "%s", handle->pin);
	while (statfs(folder, &fs)) {
		if (errno != ENOENT)
			return node_fail(handle, -errno, "cannot look at %s", folder);
		folder = dirname(path);
	}
	return fs.f_type == BPF_FS_MAGIC ? 0 : refuse_folder(handle);
}

/* Mounts bpffs and makes the folder if they are missing. */
static int make_folder(struct node_handle *handle)
{
	char path[PATH_MAX];
	struct stat folder;
	bool made;
	int error = mount_bpffs(handle, &made);

	if (!error)
		error = check_folder(handle);
	if (error)
		return error;
	snprintf(path, sizeof(path), "%s", handle->pin);
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		handle->made_folder = !mkdir(path, 0700);
		if (!handle->made_folder && errno != EEXIST)
			return node_fail(handle, -errno, "cannot make %s", path);
		if (!slash)
			break;
		*slash = '/';
	}
	if (stat(path, &folder))
		return node_fail(handle, -errno, "cannot look at %s", path);
	return mount_check(handle, folder.st_dev, made);
}

int pins_lock(struct node_handle *handle, bool create)
{
	struct stat locked, named;
	struct statfs fs;
	int error;

	for (;;) {
		SCOPED_FD int fd = -1;

		error = create ? make_folder(handle) : 0;
		if (error)
			return error;
		fd = open(handle->pin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && !create)
			return 0;
		if (fd < 0)
			return node_fail(handle, -errno, "cannot open %s", handle->pin);
		if (fstatfs(fd, &fs))
			return node_fail(handle, -errno, "cannot look at %s", handle->pin);
		if (fs.f_type != BPF_FS_MAGIC)
			return refuse_folder(handle);
		error = folder_lock(handle, fd);
		if (error)
			return node_fail(handle, error, "cannot lock %s", handle->pin);
		/* The folder may have been removed by the command that had the lock before. */
		if (!fstat(fd, &locked) && !stat(handle->pin, &named) &&
		    locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) {
			handle->lock = TAKE_FD(fd);
			return 0;
		}
	}
}

bool pins_are_locked(const struct node_handle *handle)
{
	SCOPED_FD int fd = open(handle->pin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
}

int pins_program(struct node_handle *handle, enum node_program which,
		 const struct program **program)
{
	struct program *kept = &handle->programs[which];

	if (!kept->id) {
		SCOPED_FD int fd = pins_get_program(handle, which);
		int error = fd < 0 ? fd : program_read(fd, kept);

		if (error)
			return error;
	}
	*program = kept;
	return 0;
}

static int map_info(int fd, struct bpf_map_info *info)
{
	uint32_t length = sizeof(*info);

	*info = (struct bpf_map_info){};
	return bpf_obj_get_info_by_fd(fd, info, &length) ? -errno : 0;
}

uint32_t pins_map_id(const struct node_handle *handle, const char *name)
{
	SCOPED_FD int fd = pins_get(handle, name);
	struct bpf_map_info info;

	return fd < 0 || map_info(fd, &info) ? 0 : info.id;
}

int pins_put_map(const struct node_handle *handle, const char *name, int fd)
{
	SCOPED_FD int there = pins_get(handle, name);
	struct bpf_map_info old, new;

	if (there >= 0 && !map_info(there, &old) && !map_info(fd, &new) && old.id == new.id)
		return 0;
	return pins_put(handle, name, fd);
}

int pins_open_config(struct node_handle *handle)
{
	SCOPED_FD int fd = -1;
	struct bh_config *config;
	bool own;
	int error;

	if (handle->config)
		return 0;
	fd = pins_get(handle, "config");
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return node_fail(handle, fd, "cannot open %s/config", handle->pin);
	error = folder_owns(handle, "config", &own);
	if (!error && !own)
		error = node_fail(handle, -EILSEQ, "%s/config is another program's", handle->pin);
	if (error)
		return error;
	config = mmap(NULL, sizeof(*config), PROT_READ | (handle->lock < 0 ? 0 : PROT_WRITE),
		      MAP_SHARED, fd, 0);
	if (config == MAP_FAILED)
		return node_fail(handle, -errno, "cannot map %s/config", handle->pin);
	/* 0: a first load was killed before it wrote the number. */
	if (config->abi && config->abi != BH_ABI) {
		diag_error(handle->diag, NULL, NULL,
			   "%s holds maps of version %u, and this command knows version %u: unload "
			   "them "
			   "with the command that loaded them",
			   handle->pin, config->abi, BH_ABI);
		munmap(config, sizeof(*config));
		return -EPROTO;
	}
	handle->config = config;
	return 0;
}

static int cannot_open(const struct node_handle *handle, int error, const char *name)
{
	return error == -ENOENT
		       ? node_fail_pinned(handle, error, "cannot open %s/%s", handle->pin, name)
		       : node_fail(handle, error, "cannot open %s/%s", handle->pin, name);
}

/* Replaces @fd, of a pinned map, by the active map of that name. Returns -ESTALE, not reported, if
 * no command is replacing maps. */
static int follow(const struct node_handle *handle, enum node_map_id map, uint32_t active, int *fd,
		  struct bpf_map_info *info)
{
	int error;

	if (!node_is_busy(handle))
		return -ESTALE;
	close(*fd);
	*fd = bpf_map_get_fd_by_id(active);
	error = *fd < 0 ? -errno : map_info(*fd, info);
	return error ? cannot_open(handle, error, node_map_names[map]) : 0;
}

static bool works_on(const struct program *ingress, const struct bpf_map_info *info,
		     const char *name)
{
	const char *pin = program_pin_name(info->name);

	return program_has(ingress, info->id) && pin && !strcmp(pin, name);
}

/* Finds the ID of the active map; 0: @ingress does not use it. Programs of an older build use the
 * pinned map itself. Only if no place is pinned, asks the kernel for all maps of @ingress. */
static int find_active(const struct node_handle *handle, const struct program *ingress,
		       enum node_map_id map, const struct bpf_map_info *pinned, uint32_t *id)
{
	int error;

	*id = pinned->id;
	if (works_on(ingress, pinned, node_map_names[map]))
		return 0;
	error = active_map_pinned(handle, map, id);
	return error || *id ? error : active_map_of(ingress, map, id);
}

/* Opens the pinned map; if that pin is lost, the map that the programs read. The next load puts the
 * pin back (programs_pin_again()). */
static int open_pinned(const struct node_handle *handle, const struct program *ingress,
		       enum node_map_id map)
{
	int fd = pins_get(handle, node_map_names[map]);
	uint32_t active = 0;
	int error;

	if (fd != -ENOENT || !node_generation(handle) || map == MAP_added)
		return fd;
	error = active_map_of(ingress, map, &active);
	if (error || !active)
		return error ? error : -ENOENT;
	fd = bpf_map_get_fd_by_id(active);
	return fd < 0 ? -errno : fd;
}

/* Opens the active map: the pinned one, unless a command is replacing it. */
static int open_map(struct node_handle *handle, const struct program *ingress, enum node_map_id map)
{
	const char *name = node_map_names[map];
	SCOPED_FD int fd = open_pinned(handle, ingress, map);
	struct bpf_map_info info;
	uint32_t active = 0;
	int error = fd < 0 ? fd : map_info(fd, &info);

	if (error == -ENOENT && !node_generation(handle))
		return 0;
	/* only commands use bh_added, so it is no map of @ingress */
	if (!error && map != MAP_added)
		error = find_active(handle, ingress, map, &info, &active);
	if (error)
		return cannot_open(handle, error, name);
	if (active && active != info.id)
		error = follow(handle, map, active, &fd, &info);
	if (error)
		return error;
	cleanup_fd(&handle->maps[map]);
	handle->maps[map] = TAKE_FD(fd);
	handle->capacity[map] = info.max_entries;
	return 0;
}

static int read_ingress(struct node_handle *handle, int fd)
{
	struct program *ingress = &handle->programs[PROGRAM_INGRESS];
	int error = fd < 0 ? fd : program_read(fd, ingress);

	/* a first load was killed before it pinned a program */
	if (error == -ENOENT && !node_generation(handle))
		return 0;
	return error ? cannot_open(handle, error, node_program_names[PROGRAM_INGRESS]) : 0;
}

static void forget_programs(struct node_handle *handle)
{
	memset(handle->programs, 0, sizeof(handle->programs));
	handle->told = (struct build){};
}

/* A reader has no lock: a load may replace the maps between two of its steps. */
#define OPEN_TRIES 100

int pins_open_maps(struct node_handle *handle)
{
	int error = -ESTALE;

	for (int tries = 0; error == -ESTALE && tries < OPEN_TRIES; tries++) {
		/* while this is open, the kernel keeps the program's maps */
		SCOPED_FD int fd = pins_get_program(handle, PROGRAM_INGRESS);

		forget_programs(handle);
		error = read_ingress(handle, fd);
		for (int i = 0; !error && i < N_NODE_MAPS; i++)
			error = open_map(handle, &handle->programs[PROGRAM_INGRESS], i);
		if (handle->lock >= 0)
			break;
	}
	if (error == -ESTALE)
		diag_error(handle->diag, NULL, NULL,
			   "%s has maps that the active programs do not work on; " NODE_ANEW,
			   handle->pin);
	return error;
}

void pins_close(struct node_handle *handle)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		cleanup_fd(&handle->maps[i]);
		handle->maps[i] = -1;
	}
	if (handle->config)
		munmap(handle->config, sizeof(*handle->config));
	handle->config = NULL;
	handle->mark = 0;
	forget_programs(handle);
}
