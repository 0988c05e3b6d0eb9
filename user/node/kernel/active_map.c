// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

#include "node/kernel/active_map.h"
#include "node/kernel/pin_folder.h"

static const uint32_t place;

static const char *place_name(enum node_map_id map, char name[BPF_OBJ_NAME_LEN])
{
	snprintf(name, BPF_OBJ_NAME_LEN, PROGRAM_PLACE "%s", node_map_names[map]);
	return name;
}

int active_map_pinned(const struct node_handle *handle, enum node_map_id map, uint32_t *id)
{
	char name[BPF_OBJ_NAME_LEN];
	SCOPED_FD int at = pins_get(handle, place_name(map, name));

	*id = 0;
	if (at < 0)
		return at == -ENOENT ? 0 : at;
	return bpf_map_lookup_elem(at, &place, id) ? -errno : 0;
}

int active_map_of(const struct program *ingress, enum node_map_id map, uint32_t *id)
{
	char name[BPF_OBJ_NAME_LEN];
	SCOPED_FD int at = -1;
	int error = program_find_map(ingress, place_name(map, name), id);

	if (error)
		return error;
	if (!*id)
		return program_find_map(ingress, node_map_names[map], id);
	at = bpf_map_get_fd_by_id(*id);
	return at < 0 || bpf_map_lookup_elem(at, &place, id) ? -errno : 0;
}

int active_map_like(int map, uint32_t entries)
{
	struct bpf_map_info like = {};
	uint32_t length = sizeof(like);
	SCOPED_FD int btf = -1;
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int fd;

	if (bpf_obj_get_info_by_fd(map, &like, &length))
		return -errno;
	options.map_flags = like.map_flags;
	btf = like.btf_id ? bpf_btf_get_fd_by_id(like.btf_id) : -1;
	if (btf >= 0) {
		options.btf_fd = btf;
		options.btf_key_type_id = like.btf_key_type_id;
		options.btf_value_type_id = like.btf_value_type_id;
	}
	fd = bpf_map_create(like.type, like.name, like.key_size, like.value_size, entries,
			    &options);
	return fd < 0 ? -errno : fd;
}

int active_map_put(const struct node_handle *handle, enum node_map_id map, int fd)
{
	char name[BPF_OBJ_NAME_LEN];
	SCOPED_FD int at = pins_get(handle, place_name(map, name));

	if (at < 0)
		return at;
	return bpf_map_update_elem(at, &place, &fd, BPF_ANY) ? -errno : 0;
}
