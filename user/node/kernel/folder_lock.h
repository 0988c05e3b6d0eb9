/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for the lock of the pin folder, and says so if the wait is long. */
#ifndef BULKHEAD_NODE_FOLDER_LOCK_H
#define BULKHEAD_NODE_FOLDER_LOCK_H

#include "node/kernel/handle.h"

/* Locks the open folder @fd. Returns 0 or -errno, not reported. */
int folder_lock(const struct node_handle *handle, int fd);

#endif
