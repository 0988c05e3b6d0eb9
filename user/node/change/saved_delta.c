// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/blob_file.h"
#include "policy/delta.h"
#include "input/text.h"
#include "node/change/saved.h"
#include "node/kernel/handle.h"

/* A delta of up to so many bytes is kept, or of up to a sixteenth of the policy, if that is
 * more. */
#define ROOM (64 << 10)

/* Bytes of the lines before the blob, at most. */
#define LINES_MAX (64 << 10)

static void cleanup_delta(struct delta **delta)
{
	delta_free(*delta);
}

/* Returns 0, -ENOENT or another -errno. Reports a damaged file. */
static int read_change(int dir, const char *path, struct diag *diag, struct delta **delta)
{
	SCOPED_FD int fd = openat(dir, SAVED_DELTA, O_RDONLY | O_CLOEXEC);
	SCOPED_FREE char *bytes = NULL;
	size_t size;
	int error = fd < 0 ? -errno : text_load(fd, TEXT_MAX, &bytes, &size);

	return error ? error : delta_read(bytes, size, &(struct where){path, 0}, diag, delta);
}

/* Returns the checksum and the length of the policy that is kept; 0: none is, or its file cannot
 * be read. */
static uint64_t saved_checksum(int dir, uint64_t *length)
{
	SCOPED_FD int fd = openat(dir, SAVED_FILE, O_RDONLY | O_CLOEXEC);
	SCOPED_FREE char *start = malloc(LINES_MAX);
	struct blob_header header;
	ssize_t n = fd >= 0 && start ? pread(fd, start, LINES_MAX, 0) : -1;
	const char *end = n > 0 ? memmem(start, n, "\n\n", 2) : NULL;

	if (!end || pread(fd, &header, sizeof(header), end + 2 - start) != sizeof(header) ||
	    !blob_is(&header, sizeof(header)))
		return 0;
	*length = header.length;
	return header.checksum;
}

/* Joins the kept delta and @delta. Returns -ENOENT if @delta does not follow the kept policy. */
static int sum_up(int dir, uint64_t base, const struct delta *delta, struct delta **sum)
{
	CLEANUP(cleanup_delta) struct delta *before = NULL;
	struct diag silent = {};
	void *payload;
	size_t size;
	int error;

	if (delta->header.base == base) {
		payload = malloc(size = delta->size);
		if (!payload)
			return -ENOMEM;
		memcpy(payload, delta->payload, size);
		return delta_open(payload, size, NULL, &silent, sum);
	}
	error = read_change(dir, SAVED_DELTA, &silent, &before);
	if (error || before->header.base != base || before->header.checksum != delta->header.base)
		return -ENOENT;
	error = delta_compose(before, delta, &payload, &size);
	return error ? error : delta_open(payload, size, NULL, &silent, sum);
}

/* Returns 0; -ENOENT if the policy must be kept whole; or another -errno. */
static int save(const char *dir, const struct delta *delta)
{
	SCOPED_FD int fd = saved_open_dir(dir);
	CLEANUP(cleanup_delta) struct delta *sum = NULL;
	SCOPED_FREE void *bytes = NULL;
	struct iovec part;
	uint64_t length, base;
	int error;

	if (fd < 0)
		return fd;
	base = saved_checksum(fd, &length);
	error = base ? sum_up(fd, base, delta, &sum) : -ENOENT;
	if (!error)
		error = delta_write(sum, &bytes, &part.iov_len);
	if (!error && part.iov_len > ROOM && part.iov_len > length / 16)
		error = -ENOENT;
	part.iov_base = bytes;
	return error ? error : saved_replace(fd, SAVED_DELTA, &part, 1);
}

int saved_save_delta(const char *dir, const char *pin, const struct node_options *options,
		     const struct node_change *change, const struct delta *delta,
		     const struct policy *whole, struct diag *diag)
{
	struct policy *policy = NULL;
	/* the load of a whole policy may have had other options */
	int error = !dir ? 0 : change->whole ? -ENOENT : save(dir, delta);

	if (!error)
		return 0;
	if (whole)
		return saved_save(dir, options, change, whole, diag);
	error = node_policy_active(pin, diag, &policy);
	if (!error && policy)
		error = saved_save(dir, options, change, overlay_compiled(policy), diag);
	policy_free(policy);
	return error;
}

/* Says why the policy without its delta is not taken in its place, and how to take it. */
static int refuse(const char *path, struct diag *diag, int error)
{
	diag_error(diag, &(struct where){path, 0}, NULL,
		   "the policy beside it is older without it, and may allow what was denied since: "
		   "load the policy again, or remove this file to begin with the older one");
	return error;
}

/* If a delta lies beside the file of @kept, from which *policy was read, replaces *policy by the
 * policy that the delta makes of it. Returns 0 or -errno, reported. */
static int apply_delta(const struct saved *kept, struct diag *diag, struct policy **policy)
{
	CLEANUP(cleanup_delta) struct delta *delta = NULL;
	const int folder = strlen(kept->path) - strlen(SAVED_FILE);
	char path[PATH_MAX + sizeof(SAVED_DELTA)];
	SCOPED_FD int dir = -1;
	struct policy *whole;
	int error;

	snprintf(path, sizeof(path), "%.*s.", folder, kept->path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%.*s" SAVED_DELTA, folder, kept->path);
	error = dir < 0 ? -errno : read_change(dir, path, diag, &delta);
	/* a delta of another policy is no longer valid */
	if (error == -ENOENT || (!error && delta->header.base != (*policy)->checksum))
		return 0;
	if (!error)
		error = delta_apply(delta, policy_lazy(*policy), kept->path,
				    &(struct where){path, 0}, diag, &whole);
	if (error)
		return error == -ENOMEM ? error : refuse(path, diag, error);
	policy_free(*policy);
	*policy = whole;
	return 0;
}

int saved_policy(const struct saved *kept, struct diag *diag, struct policy **policy)
{
	const size_t size = kept->size - kept->blob;
	char *bytes = malloc(size + 1);
	int error;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, kept->text + kept->blob, size);
	error = blob_read(bytes, size, &(struct where){kept->path, 0}, diag, policy);
	if (error)
		free(bytes);
	return error ? error : apply_delta(kept, diag, policy);
}
