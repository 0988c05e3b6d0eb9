// SPDX-License-Identifier: GPL-2.0-only
#include "cni/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/kernel/handle.h"

static int copy_bytes(int from, int to, off_t left)
{
	while (left) {
		ssize_t n = sendfile(to, from, NULL, left);

		if (n <= 0)
			return n ? -errno : -EIO;
		left -= n;
	}
	return fsync(to) ? -errno : 0;
}

static int copy_file(const char *path, const char *copy, const struct stat *stat)
{
	char beside[PATH_MAX];
	SCOPED_FD int from = open(path, O_RDONLY | O_CLOEXEC);
	SCOPED_FD int to = -1;
	int error;

	if (from < 0)
		return -errno;
	if (snprintf(beside, sizeof(beside), "%s.XXXXXX", copy) >= (int)sizeof(beside))
		return -ENAMETOOLONG;
	to = mkstemp(beside);
	if (to < 0)
		return -errno;
	error = copy_bytes(from, to, stat->st_size);
	if (!error && (fchmod(to, stat->st_mode & 0777) || rename(beside, copy)))
		error = -errno;
	if (error)
		unlink(beside);
	return error;
}

static int copy_entry(const char *root, const FTSENT *entry)
{
	char copy[PATH_MAX];

	if (snprintf(copy, sizeof(copy), "%s%s", root, entry->fts_path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	if (entry->fts_info == FTS_D)
		return mkdir(copy, 0755) && errno != EEXIST ? -errno : 0;
	if (entry->fts_info == FTS_F)
		return copy_file(entry->fts_path, copy, entry->fts_statp);
	return entry->fts_errno ? -entry->fts_errno : 0;
}

int cni_copy_image(const char *root, struct diag *diag)
{
	char folder[] = CNI_IMAGE_FOLDER;
	char *const paths[] = {folder, NULL};
	const FTSENT *entry;
	FTS *tree;
	int error = 0;

	if (access(CNI_IMAGE_PROGRAM, X_OK)) {
		diag_error(diag, NULL, NULL,
			   "--root is for the container image: there is no " CNI_IMAGE_PROGRAM);
		return -EINVAL;
	}
	tree = fts_open(paths, FTS_PHYSICAL, NULL);
	if (!tree)
		return -errno;
	while (!error && (entry = fts_read(tree))) {
		error = copy_entry(root, entry);
		if (error)
			diag_error(diag, NULL, NULL, "cannot copy %s into %s: %s", entry->fts_path,
				   root, strerror(-error));
	}
	fts_close(tree);
	return error;
}

static int remove_entry(const FTSENT *entry)
{
	if (entry->fts_info == FTS_D)
		return 0;
	if (entry->fts_info == FTS_DP)
		return rmdir(entry->fts_accpath) ? -errno : 0;
	return unlink(entry->fts_accpath) && errno != ENOENT ? -errno : 0;
}

int cni_remove_image(const char *root, struct diag *diag)
{
	char folder[PATH_MAX];
	char *const paths[] = {folder, NULL};
	const FTSENT *entry;
	FTS *tree;
	int error = 0;

	if (snprintf(folder, sizeof(folder), "%s%s", root, CNI_IMAGE_FOLDER) >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!tree)
		return -errno;
	while (!error && (entry = fts_read(tree))) {
		error = remove_entry(entry);
		if (error)
			diag_error(diag, NULL, NULL, "cannot remove %s: %s", entry->fts_path,
				   strerror(-error));
	}
	fts_close(tree);
	return error;
}
