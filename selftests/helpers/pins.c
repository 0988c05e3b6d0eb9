// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells what is pinned in a folder, and which programs use its policy.
 *
 *   pins FOLDER
 *
 * Prints a line for each pin, in the order of the names:
 *
 *   map NAME ID MAX_ENTRIES MEMLOCK
 *   prog NAME ID MEMLOCK
 *   link NAME ID              the ID of the link's program
 *
 * and then a line for each program of the kernel, attached or not, that uses the folder's map
 * `at_endpoints`:
 *
 *   user NAME ID BUILD        BUILD is `none` if the program has no constant `build`
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define MAPS_MAX 256
#define CONSTANTS_MAX 4096

static __u32 endpoints; /* ID of the map `at_endpoints` */

/* Returns the number behind a name in what the kernel tells of a descriptor, 0 if it has no such.
 */
static unsigned long long field(int fd, const char *name)
{
	char path[64], line[256];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (file) {
		while (fgets(line, sizeof(line), file))
			if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
				value = strtoull(line + strlen(name) + 1, NULL, 10);
		fclose(file);
		return value;
	}
	helper_die(path);
}

static void print_pin(const char *folder, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		helper_die(path);
	if (field(fd, "map_id")) {
		printf("map %s %llu %llu %llu\n", name, field(fd, "map_id"),
		       field(fd, "max_entries"), field(fd, "memlock"));
		if (!strcmp(name, "at_endpoints"))
			endpoints = field(fd, "map_id");
	} else if (field(fd, "link_id")) {
		printf("link %s %llu\n", name, field(fd, "prog_id"));
	} else {
		printf("prog %s %llu %llu\n", name, field(fd, "prog_id"), field(fd, "memlock"));
	}
	close(fd);
}

/* Prints the value of the variable `build`, if this map has a program's constants. */
static bool print_build(__u32 id)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info), zero = 0;
	unsigned char value[CONSTANTS_MAX];
	const struct btf_var_secinfo *variable;
	const struct btf_type *constants;
	struct btf *btf = NULL;
	const char *name;
	bool found = false;
	__u64 build;
	int fd = bpf_map_get_fd_by_id(id);

	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && strstr(info.name, ".rodata") &&
	    info.value_size <= sizeof(value) && !bpf_map_lookup_elem(fd, &zero, value))
		btf = btf__load_from_kernel_by_id(info.btf_id);
	constants = btf ? btf__type_by_id(btf, info.btf_value_type_id) : NULL;
	for (int i = 0; constants && btf_is_datasec(constants) && i < btf_vlen(constants); i++) {
		variable = btf_var_secinfos(constants) + i;
		name = btf__name_by_offset(btf, btf__type_by_id(btf, variable->type)->name_off);
		if (strcmp(name, "build"))
			continue;
		memcpy(&build, value + variable->offset, sizeof(build));
		printf(" %llx", (unsigned long long)build);
		found = true;
	}
	btf__free(btf);
	if (fd >= 0)
		close(fd);
	return found;
}

static void print_user(int fd)
{
	__u32 maps[MAPS_MAX] = {0};
	struct bpf_prog_info info = {.map_ids = (__u64)(unsigned long)maps, .nr_map_ids = MAPS_MAX};
	__u32 size = sizeof(info);
	bool uses = false, found = false;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		helper_die("a program");
	for (__u32 i = 0; i < info.nr_map_ids; i++)
		uses |= maps[i] == endpoints;
	if (!uses)
		return;
	printf("user %s %u", info.name, info.id);
	for (__u32 i = 0; i < info.nr_map_ids; i++)
		found |= print_build(maps[i]);
	puts(found ? "" : " none");
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	__u32 id = 0;
	int n, fd;

	if (argc != 2) {
		fprintf(stderr, "usage: pins FOLDER\n");
		return 2;
	}
	n = scandir(argv[1], &entries, NULL, alphasort);
	if (n < 0)
		helper_die(argv[1]);
	for (int i = 0; i < n; free(entries[i++]))
		if (entries[i]->d_type != DT_DIR)
			print_pin(argv[1], entries[i]->d_name);
	free(entries);
	while (endpoints && !bpf_prog_get_next_id(id, &id)) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			helper_die("a program");
		print_user(fd);
		close(fd);
	}
	return 0;
}
