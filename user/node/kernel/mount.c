// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "node/kernel/mount.h"

#define BPFFS "/sys/fs/bpf"

/* The kernel's number of the first PID namespace (PROC_PID_INIT_INO): process 1 is the machine's
 * own there. In another namespace, process 1 is a container's. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

/* Mounts only what is known to be missing: a second bpffs would hide the pins of the first. */
int mount_bpffs(const struct node_handle *handle, bool *made)
{
	struct statfs fs;

	*made = false;
	if (strncmp(handle->pin, BPFFS "/", strlen(BPFFS "/")))
		return 0;
	if (statfs(BPFFS, &fs))
		return node_fail(handle, -errno, "cannot look at " BPFFS);
	if (fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (mount("bpf", BPFFS, "bpf", 0, "mode=0700"))
		return node_fail(handle, -errno, "cannot mount bpffs at " BPFFS);
	*made = true;
	return 0;
}

/* Returns true if process 1 has a mount of the file system, or nobody can tell. */
static bool is_shared(dev_t device)
{
	FILE *mounts = fopen("/proc/1/mountinfo", "re");
	SCOPED_FREE char *line = NULL;
	unsigned int major, minor;
	bool found = false;
	size_t size = 0;

	if (!mounts)
		return true;
	while (!found && getline(&line, &size, mounts) > 0)
		found = sscanf(line, "%*d %*d %u:%u ", &major, &minor) == 2 &&
			makedev(major, minor) == device;
	fclose(mounts);
	return found;
}

static bool is_in_container(void)
{
	char name[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	return n > 0 && strcmp(name, FIRST_PID_NAMESPACE);
}

/* In a container, process 1 is the container's own and has the mount, too: a mount that this
 * command made is the container's alone. A boot makes the mount in a container that is a node of
 * its own. */
static bool ends_with_namespace(const struct node_handle *handle, dev_t device, bool made)
{
	return !is_shared(device) || (made && is_in_container() && !handle->options->boot);
}

static bool is_default(const struct node_handle *handle)
{
	return !strcmp(handle->pin, NODE_PIN);
}

bool mount_is_own(const struct node_handle *handle)
{
	struct stat folder;

	return is_default(handle) && !stat(handle->pin, &folder) && !is_shared(folder.st_dev);
}

bool mount_is_missing(const struct node_handle *handle)
{
	SCOPED_FREE char *parent = strdup(handle->pin);
	struct statfs fs;

	if (!statfs(handle->pin, &fs))
		return fs.f_type != BPF_FS_MAGIC;
	return parent && (statfs(dirname(parent), &fs) || fs.f_type != BPF_FS_MAGIC);
}

int mount_check(const struct node_handle *handle, dev_t device, bool made)
{
	const struct node_options *options = handle->options;

	if (!is_default(handle) || !ends_with_namespace(handle, device, made))
		return 0;
	if (options->force && !options->boot) {
		diag_warn(
			handle->diag, NULL, NULL,
			"%s is on a bpffs of this mount namespace alone: when the namespace goes, "
			"nothing is guarded any more",
			handle->pin);
		return 0;
	}
	diag_error(handle->diag, NULL, NULL,
		   "%s is on a bpffs of this mount namespace alone, and nothing would be guarded "
		   "once the namespace goes: share the node's " BPFFS
		   " (a hostPath volume, nsenter --mount=/proc/1/ns/mnt), or --force",
		   handle->pin);
	if (made)
		umount2(BPFFS, MNT_DETACH);
	return -EINVAL;
}
