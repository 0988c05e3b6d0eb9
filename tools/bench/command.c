// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "policy/blob_file.h"

double command_processor_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

int command_run(const struct bench *bench, double *ms, const char *format, ...)
{
	struct timespec begin, end;
	char text[4 * BENCH_PATH] = "exec ";
	size_t length = strlen(text);
	va_list list;

	va_start(list, format);
	length += vsnprintf(text + length, sizeof(text) - length, format, list);
	va_end(list);
	snprintf(text + length, sizeof(text) - length, " >%s/bench/log 2>&1", bench->build);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (system(text)) {
		fprintf(stderr, "failed: %s\n", text);
		return -EIO;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	*ms = (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6;
	return 0;
}

int command_map_writes(const struct bench *bench, double *writes)
{
	char path[BENCH_PATH + 16], line[256];
	unsigned long n;
	int err = -EIO;
	FILE *log;

	snprintf(path, sizeof(path), "%s/bench/log", bench->build);
	log = fopen(path, "r");
	while (log && fgets(line, sizeof(line), log)) {
		if (!strstr(line, " map writes") || sscanf(line, "%lu", &n) != 1)
			continue;
		*writes = n;
		err = 0;
	}
	if (log)
		fclose(log);
	return err;
}

int command_read_blob(const char *path, struct policy **policy)
{
	struct diag diag = {.to = stderr};
	struct where where = {path, 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *bytes = size < 0 ? NULL : malloc(size);

	err = bytes && pread(fd, bytes, size, 0) == size
		      ? blob_read(bytes, size, &where, &diag, policy)
		      : -EIO;
	if (fd >= 0)
		close(fd);
	if (err)
		free(bytes);
	return err;
}
