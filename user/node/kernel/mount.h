/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mount of the pin folder. A bpffs that only this process's mount namespace has goes with that
 * namespace, and so do its pins and all that they keep.
 */
#ifndef BULKHEAD_NODE_MOUNT_H
#define BULKHEAD_NODE_MOUNT_H

#include <sys/types.h>

#include "node/kernel/handle.h"

/* Mounts bpffs if the pin folder is to be below /sys/fs/bpf and none is mounted. *made: the
 * function has mounted it. Returns 0 or -errno, reported. */
int mount_bpffs(const struct node_handle *handle, bool *made);

/* Returns true if the default pin folder is on a bpffs that process 1 does not have. */
bool mount_is_own(const struct node_handle *handle);

/* Returns true if the pin folder, or the folder that it would be in, is on no bpffs. */
bool mount_is_missing(const struct node_handle *handle);

/*
 * Refuses the default pin folder on the file system @device that goes with this process's mount
 * namespace. @made as mount_bpffs() sets it: the mount is removed then. With `force`, warns
 * instead. A folder that the operator names by --pin may be anywhere. Returns 0 or -EINVAL,
 * reported.
 */
int mount_check(const struct node_handle *handle, dev_t device, bool made);

#endif
