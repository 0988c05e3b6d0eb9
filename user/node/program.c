// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "node/inside.h"
#include "node/program.h"

static int map_info(uint32_t id, struct bpf_map_info *info)
{
	SCOPED_FD int fd = bpf_map_get_fd_by_id(id);
	uint32_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return fd < 0 || bpf_obj_get_info_by_fd(fd, info, &length) ? -errno : 0;
}

int program_read(int fd, struct program *program)
{
	uint32_t ids[ARRAY_SIZE(program->maps)], length = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = ARRAY_SIZE(ids), .map_ids = (uintptr_t)ids};

	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	if (info.nr_map_ids > ARRAY_SIZE(ids))
		return -E2BIG;
	program->id = info.id;
	program->n_maps = info.nr_map_ids;
	for (uint32_t i = 0; i < program->n_maps; i++) {
		struct bpf_map_info map;
		int error = map_info(ids[i], &map);

		if (error)
			return error;
		program->maps[i].id = ids[i];
		memcpy(program->maps[i].name, map.name, sizeof(map.name));
	}
	return 0;
}

/* libbpf names the map of a section of constants after the object, cut short, and the section. */
static bool is_constants(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && !strcmp(dot, ".rodata");
}

const char *program_pin(const struct program *program, uint32_t map)
{
	const char *name = program->maps[map].name;

	return strncmp(name, "bh_", strlen("bh_")) || strchr(name, '.') ? NULL
									: name + strlen("bh_");
}

uint32_t program_map(const struct program *program, const char *pin)
{
	for (uint32_t i = 0; i < program->n_maps; i++) {
		const char *name = program_pin(program, i);

		if (name && !strcmp(name, pin))
			return program->maps[i].id;
	}
	return 0;
}

static int read_section(uint32_t id, struct constants *constants)
{
	struct bpf_map_info info;
	SCOPED_FD int fd = bpf_map_get_fd_by_id(id);
	uint32_t zero = 0;
	int error = fd < 0 ? -errno : map_info(id, &info);

	if (error)
		return error;
	constants->section = info.btf_value_type_id;
	constants->btf = btf__load_from_kernel_by_id(info.btf_id);
	constants->bytes = calloc(1, info.value_size);
	/* libbpf makes a map without BTF where the kernel has no memory for it. */
	if (!constants->btf || !constants->bytes)
		return constants->btf ? -ENOMEM : -EILSEQ;
	return bpf_map_lookup_elem(fd, &zero, constants->bytes) ? -errno : 0;
}

int constants_read(const struct program *program, struct constants *constants)
{
	*constants = (struct constants){};
	for (uint32_t i = 0; i < program->n_maps; i++)
		if (is_constants(program->maps[i].name))
			return read_section(program->maps[i].id, constants);
	return -ENOENT;
}

void constants_free(struct constants *constants)
{
	btf__free(constants->btf);
	free(constants->bytes);
}

bool constants_get(const struct constants *constants, const char *name, void *value, size_t size)
{
	const struct btf_type *section = btf__type_by_id(constants->btf, constants->section);
	const struct btf_var_secinfo *at;

	if (!section || !btf_is_datasec(section))
		return false;
	at = btf_var_secinfos(section);
	for (uint32_t i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *variable = btf__type_by_id(constants->btf, at[i].type);

		if (at[i].size != size ||
		    strcmp(btf__name_by_offset(constants->btf, variable->name_off), name))
			continue;
		memcpy(value, constants->bytes + at[i].offset, size);
		return true;
	}
	return false;
}
