/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies the command from its container image to the host: a runtime runs plugins on the host,
 * which may have none of the libraries that the image brings. The image has the command, its loader
 * and its libraries in one folder, and each finds the others by the folder's path.
 */
#ifndef BULKHEAD_CNI_COPY_H
#define BULKHEAD_CNI_COPY_H

#include "model/diag.h"

#define CNI_IMAGE_FOLDER "/opt/bulkhead"
#define CNI_IMAGE_PROGRAM CNI_IMAGE_FOLDER "/bulkhead"

/* Copies that folder below @root, where the host's root is mounted. Each file takes the place of
 * its former version in one step, so a plugin that runs is not disturbed, and only once all files
 * are there: a copy that fails, as on a full disk, leaves the former version whole. Returns 0;
 * -EINVAL if the command does not run from such an image; or another -errno; reported. */
int cni_copy_image(const char *root, struct diag *diag);

/* Removes that folder below @root again, if it is there. Returns 0 or -errno; reported. */
int cni_remove_image(const char *root, struct diag *diag);

#endif
