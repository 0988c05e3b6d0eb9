// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads a policy or a delta as a follower does: the interface of an endpoint that goes is
 * quarantined.
 *
 *   quarantine FOLDER FILE
 *
 * Prints "delta" if a delta was planned from what it names, else "whole". The exit status is 2 if
 * the load is refused or fails.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/diag.h"
#include "node/node.h"
#include "policy/blob_file.h"
#include "policy/delta.h"
#include "selftests/helpers/lib/helper.h"

static void *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	char *bytes;

	if (fd < 0 || fstat(fd, &stat))
		helper_die(path);
	*size = stat.st_size;
	bytes = malloc(*size + 1);
	if (!bytes || read(fd, bytes, *size) != stat.st_size)
		helper_die(path);
	close(fd);
	return bytes;
}

static int load(struct node_handle *handle, const char *path, struct diag *diag,
		struct node_change *change)
{
	const struct where where = {.file = path};
	struct policy *policy = NULL;
	struct delta *delta = NULL;
	size_t size;
	void *bytes = read_file(path, &size);
	int error;

	if (delta_is(bytes, size)) {
		error = delta_read(bytes, size, &where, diag, &delta);
		if (!error)
			error = delta_check_base(delta, node_policy_head(handle), "active", &where,
						 diag);
		free(bytes);
		return error ? error : node_load_delta(handle, delta, change, NULL);
	}
	error = blob_read(bytes, size, &where, diag, &policy);
	if (!error)
		error = node_load(handle, policy, change);
	change->whole = true;
	return error;
}

int main(int argc, char *argv[])
{
	struct node_options options = {.pin = argv[1], .quarantine = true, .late = true};
	struct diag diag = {.to = stderr};
	struct node_handle *handle = NULL;
	struct node_change change = {};
	int error;

	if (argc != 3)
		return 2;
	error = node_open(&options, true, &diag, &handle);
	if (!error)
		error = load(handle, argv[2], &diag, &change);
	node_close(handle);
	if (error)
		return 2;
	puts(change.whole ? "whole" : "delta");
	return 0;
}
