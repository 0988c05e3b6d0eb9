// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/output.h"

static int report(const struct output *output, int error)
{
	command_error("%s: %s", output->path ? output->path : "standard output", strerror(-error));
	return error;
}

int output_open(struct output *output, const char *path)
{
	struct stat status;
	int fd;

	*output = (struct output){.to = stdout, .path = path};
	if (!path)
		return 0;
	if (stat(path, &status) || S_ISREG(status.st_mode)) {
		if (snprintf(output->beside, sizeof(output->beside), "%s.%d", path, getpid()) >=
		    (int)sizeof(output->beside))
			return report(output, -ENAMETOOLONG);
		fd = open(output->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} else {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	output->to = fd < 0 ? NULL : fdopen(fd, "w");
	return output->to ? 0 : report(output, -errno);
}

int output_close(struct output *output, int error)
{
	int failed = fflush(output->to) || ferror(output->to) ? -errno : 0;

	if (output->to != stdout && fclose(output->to) && !failed)
		failed = -errno;
	if (*output->beside && (error || failed))
		unlink(output->beside);
	else if (*output->beside && rename(output->beside, output->path))
		failed = -errno;
	return error || !failed ? error : report(output, failed);
}
