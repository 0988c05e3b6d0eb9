// SPDX-License-Identifier: GPL-2.0-only
#include "tools/bench/memory.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns a map's memory in bytes, as the kernel counts it; 0 for a program. */
static double map_bytes(int fd)
{
	char path[64], line[128];
	bool is_map = false;
	double bytes = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "r");
	while (info && fgets(line, sizeof(line), info)) {
		is_map |= strncmp(line, "map_type:", strlen("map_type:")) == 0;
		sscanf(line, "memlock: %lf", &bytes);
	}
	if (info)
		fclose(info);
	return is_map ? bytes : 0;
}

/* Returns true if a map's size does not depend on the policy: connections, fragments, events,
 * counters. */
static bool has_fixed_size(const char *name)
{
	static const char *const names[] = {"ct",	  "share",   "fragment", "tallies",
					    "dropped",	  "readers", "counters", "verdicts",
					    "flow_cache", "denials"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

int memory_read(const char *pin, struct map_memory *memory)
{
	DIR *pins = opendir(pin);
	struct dirent *entry;

	*memory = (struct map_memory){};
	if (!pins)
		return -errno;
	while ((entry = readdir(pins))) {
		char path[PATH_MAX];
		double bytes;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", pin, entry->d_name);
		fd = bpf_obj_get(path);
		if (fd < 0)
			continue;
		bytes = map_bytes(fd);
		close(fd);
		if (has_fixed_size(entry->d_name))
			memory->fixed += bytes;
		else
			memory->policy += bytes;
		if (strncmp(entry->d_name, "blob", strlen("blob")) == 0)
			memory->blob += bytes;
	}
	closedir(pins);
	return 0;
}
