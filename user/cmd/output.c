// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/output.h"

static int report(const struct output *output, int error)
{
	command_error("cannot write %s: %s", output->path ? output->path : "standard output",
		      strerror(-error));
	return error;
}

/* Returns true if the path leads where standard output goes already, as /dev/stdout does. */
static bool is_stdout(const struct stat *named)
{
	struct stat open;

	return !fstat(STDOUT_FILENO, &open) && open.st_dev == named->st_dev &&
	       open.st_ino == named->st_ino;
}

/* Makes the file beside the path. Returns its descriptor; -1: errno says why not. */
static int make_beside(struct output *output)
{
	const mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (snprintf(output->beside, sizeof(output->beside), "%s.XXXXXX", output->target) >=
	    (int)sizeof(output->beside)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(output->beside, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0666 & ~mask);
	return fd;
}

int output_open(struct output *output, const char *path)
{
	struct stat status;
	bool there;
	int fd;

	*output = (struct output){.to = stdout, .path = path};
	if (!path)
		return 0;
	there = !stat(path, &status);
	if (there && is_stdout(&status)) {
		output->path = NULL;
		return 0;
	}
	if (there && !S_ISREG(status.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		/* a link stays, and the file that it leads to is replaced */
		if (!there || !realpath(path, output->target))
			snprintf(output->target, sizeof(output->target), "%s", path);
		fd = make_beside(output);
	}
	output->to = fd < 0 ? NULL : fdopen(fd, "w");
	return output->to ? 0 : report(output, -errno);
}

int output_close(struct output *output, int error)
{
	int failed = 0;

	/* errno is of this flush, or of a write before */
	if (fflush(output->to) || ferror(output->to))
		failed = errno ? -errno : -EIO;
	if (output->to != stdout && fclose(output->to) && !failed)
		failed = -errno;
	if (*output->beside && (error || failed))
		unlink(output->beside);
	else if (*output->beside && rename(output->beside, output->target))
		failed = -errno;
	return error || !failed ? error : report(output, failed);
}
