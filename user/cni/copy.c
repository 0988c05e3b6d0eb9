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

/* Returns true if the two files have the same bytes. */
static bool have_same_bytes(int a, int b, off_t size)
{
	char left[16384], right[sizeof(left)];
	off_t at = 0;

	while (at < size) {
		const ssize_t n = pread(a, left, sizeof(left), at);

		if (n <= 0 || pread(b, right, n, at) != n || memcmp(left, right, n))
			return false;
		at += n;
	}
	return true;
}

static bool is_same(int from, const struct stat *stat, const char *copy)
{
	SCOPED_FD int to = open(copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat there;

	return to >= 0 && !fstat(to, &there) && S_ISREG(there.st_mode) &&
	       there.st_size == stat->st_size &&
	       (there.st_mode & 07777) == (stat->st_mode & 0777) &&
	       have_same_bytes(from, to, stat->st_size);
}

#define NEW ".new" /* behind the name of a file that is to replace the one of that name */

static int copy_file(const FTSENT *entry, const char *copy)
{
	const struct stat *stat = entry->fts_statp;
	SCOPED_FD int from = open(entry->fts_path, O_RDONLY | O_CLOEXEC);
	SCOPED_FD int to = -1;
	char beside[PATH_MAX];
	int error;

	if (from < 0)
		return -errno;
	if (snprintf(beside, sizeof(beside), "%s" NEW, copy) >= (int)sizeof(beside))
		return -ENAMETOOLONG;
	/* a copy that was killed may have been another version's */
	if (unlink(beside) && errno != ENOENT)
		return -errno;
	if (is_same(from, stat, copy))
		return 0;
	to = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	error = copy_bytes(from, to, stat->st_size);
	return !error && fchmod(to, stat->st_mode & 0777) ? -errno : error;
}

/* Copies an entry of the image beside the one that it is to replace. */
static int copy_entry(const FTSENT *entry, const char *copy)
{
	if (entry->fts_info == FTS_D)
		return mkdir(copy, 0755) && errno != EEXIST ? -errno : 0;
	if (entry->fts_info == FTS_F)
		return copy_file(entry, copy);
	return entry->fts_errno ? -entry->fts_errno : 0;
}

static int replace_entry(const FTSENT *entry, const char *copy)
{
	char beside[PATH_MAX];

	if (entry->fts_info != FTS_F)
		return 0;
	if (snprintf(beside, sizeof(beside), "%s" NEW, copy) >= (int)sizeof(beside))
		return -ENAMETOOLONG;
	return rename(beside, copy) && errno != ENOENT ? -errno : 0;
}

static int forget_entry(const FTSENT *entry, const char *copy)
{
	char beside[PATH_MAX];

	if (entry->fts_info == FTS_F &&
	    snprintf(beside, sizeof(beside), "%s" NEW, copy) < (int)sizeof(beside))
		unlink(beside);
	return 0;
}

/* Backwards by name: the libraries come before the program that needs them. */
static int compare(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*b)->fts_name, (*a)->fts_name);
}

/* Calls @act for each entry of the image's folder, with the path of its copy below @root. */
static int each_entry(const char *root, struct diag *diag,
		      int (*act)(const FTSENT *entry, const char *copy))
{
	char folder[] = CNI_IMAGE_FOLDER, copy[PATH_MAX];
	char *const paths[] = {folder, NULL};
	FTS *tree = fts_open(paths, FTS_PHYSICAL, compare);
	const FTSENT *entry;
	int error = 0;

	if (!tree)
		return -errno;
	while (!error && (entry = fts_read(tree))) {
		error = snprintf(copy, sizeof(copy), "%s%s", root, entry->fts_path) >=
					(int)sizeof(copy)
				? -ENAMETOOLONG
				: act(entry, copy);
		if (error)
			diag_error(diag, NULL, NULL, "cannot copy %s into %s: %s", entry->fts_path,
				   root, strerror(-error));
	}
	fts_close(tree);
	return error;
}

int cni_copy_image(const char *root, struct diag *diag)
{
	int error;

	if (access(CNI_IMAGE_PROGRAM, X_OK)) {
		diag_error(diag, NULL, NULL,
			   "--root is for the container image: there is no " CNI_IMAGE_PROGRAM);
		return -EINVAL;
	}
	error = each_entry(root, diag, copy_entry);
	if (!error)
		return each_entry(root, diag, replace_entry);
	each_entry(root, diag, forget_entry);
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
