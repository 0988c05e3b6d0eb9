/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that a command writes: a reader finds the old content or the whole new one. */
#ifndef BULKHEAD_CMD_OUTPUT_H
#define BULKHEAD_CMD_OUTPUT_H

#include <limits.h>
#include <stdio.h>

struct output {
	FILE *to;
	const char *path; /* NULL: standard output, also if its path was given, as /dev/stdout */
	char target[PATH_MAX]; /* the path without symbolic links */
	/* the file until it is whole; "": the path is written in place, since it is no regular
	 * file, such as /dev/null */
	char beside[PATH_MAX];
};

/* The file has the mode that the umask leaves of 0666. Returns 0 or -errno, reported. */
int output_open(struct output *output, const char *path);

/* Puts the file in its place; with @error removes it, and leaves the old one. Returns @error, or
 * -errno, reported, if the file could not be written. */
int output_close(struct output *output, int error);

#endif
