// SPDX-License-Identifier: GPL-2.0-only
/* One pin, and the names of all pins. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/kernel/pin_folder.h"

const char *const node_map_names[N_NODE_MAPS] = {
#define NODE_MAP(name, ...) [MAP_##name] = #name,
#include "maps/maps.def"
};

const enum node_map_kind node_map_kinds[N_NODE_MAPS] = {
#define NODE_MAP(name, key, value, entry, kind) [MAP_##name] = MAP_KIND_##kind,
#include "maps/maps.def"
};

const char *const node_program_names[N_NODE_PROGRAMS] = {
	[PROGRAM_INGRESS] = "tc_from_endpoint",
	[PROGRAM_EGRESS] = "tc_to_endpoint",
	[PROGRAM_UPLINK] = "tc_uplink",
	[PROGRAM_LEAVE] = "tc_leave",
	[PROGRAM_SOCKET] = "sk_node",
	[PROGRAM_ASSIGN] = "assign",
	[PROGRAM_FORGET] = "forget",
};

const char *pins_path(const struct node_handle *handle, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", handle->pin, name);
	return path;
}

int pins_get(const struct node_handle *handle, const char *name)
{
	char path[PATH_MAX];
	int fd = bpf_obj_get(pins_path(handle, name, path));

	return fd < 0 ? -errno : fd;
}

int pins_get_program(const struct node_handle *handle, enum node_program which)
{
	return pins_get(handle, node_program_names[which]);
}

int pins_remove(const struct node_handle *handle, const char *name)
{
	char path[PATH_MAX];

	if (unlink(pins_path(handle, name, path)) && errno != ENOENT)
		return node_fail(handle, -errno, "cannot remove %s", path);
	return 0;
}

int pins_put(const struct node_handle *handle, const char *name, int fd)
{
	char path[PATH_MAX], put[PATH_MAX];
	int error;

	if (!bpf_obj_pin(fd, pins_path(handle, name, path)))
		return 0;
	error = errno == EEXIST ? pins_remove(handle, PINS_NEW) : -errno;
	if (!error && (bpf_obj_pin(fd, pins_path(handle, PINS_NEW, put)) || rename(put, path)))
		error = -errno;
	return error ? node_fail(handle, error, "cannot pin %s", path) : 0;
}
