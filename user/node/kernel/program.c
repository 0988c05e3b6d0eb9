// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "node/kernel/handle.h"
#include "maps/conntrack.h"
#include "node/kernel/program.h"

#define FUNCTION_NAME 32 /* with the terminating 0, at most */

/*
 * Lets the kernel look for the function: to read the kernel's BTF takes a command 20 to 80 ms. A
 * program asks and writes the answer to its context: the number of the type, with the file
 * descriptor of the BTF in the upper half if that is a module's; or -errno. Returns it.
 */
static int64_t ask_kernel(const char *function)
{
	struct bpf_insn code[FUNCTION_NAME / 4 + 9] = {};
	char name[FUNCTION_NAME] = {};
	int64_t answer = -1;
	size_t n = 0;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &answer, .ctx_size_in = sizeof(answer));
	LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_SLEEPABLE);
	SCOPED_FD int fd = -1;

	if (strlen(function) >= sizeof(name))
		return -1;
	memcpy(name, function, strlen(function));
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0};
	for (int i = 0; i < FUNCTION_NAME; i += 4) {
		code[n] = (struct bpf_insn){BPF_ST | BPF_MEM | BPF_W, 10, 0, i - FUNCTION_NAME, 0};
		memcpy(&code[n++].imm, name + i, 4);
	}
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0};
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -FUNCTION_NAME};
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, strlen(function) + 1};
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, BTF_KIND_FUNC};
	code[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0};
	code[n++] = (struct bpf_insn){BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_btf_find_by_name_kind};
	code[n++] = (struct bpf_insn){BPF_STX | BPF_MEM | BPF_DW, 6, 0, 0, 0};
	code[n++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "bh_function", "GPL", code, n, &options);
	return fd < 0 || bpf_prog_test_run_opts(fd, &run) ? -1 : answer;
}

bool program_kernel_has(const char *function)
{
	int64_t answer = ask_kernel(function);

	if (answer > 0 && answer >> 32)
		close((int)(answer >> 32));
	return answer > 0;
}

int program_read(int fd, struct program *program)
{
	struct bpf_prog_info info = {.nr_map_ids = ARRAY_SIZE(program->maps),
				     .map_ids = (uintptr_t)program->maps};
	uint32_t length = sizeof(info);

	*program = (struct program){};
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	if (info.nr_map_ids > ARRAY_SIZE(program->maps))
		return -EOVERFLOW;
	program->id = info.id;
	program->n_maps = info.nr_map_ids;
	return 0;
}

bool program_has(const struct program *program, uint32_t map)
{
	for (uint32_t i = 0; i < program->n_maps; i++)
		if (program->maps[i] == map)
			return true;
	return false;
}

static int open_map(uint32_t map, struct bpf_map_info *info)
{
	SCOPED_FD int fd = bpf_map_get_fd_by_id(map);
	uint32_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return fd < 0 || bpf_obj_get_info_by_fd(fd, info, &length) ? -errno : TAKE_FD(fd);
}

const char *program_pin_name(const char *name)
{
	if (strchr(name, '.'))
		return NULL;
	if (!strncmp(name, PROGRAM_PLACE, strlen(PROGRAM_PLACE)))
		return name;
	return strncmp(name, PROGRAM_MAP, strlen(PROGRAM_MAP)) ? NULL : name + strlen(PROGRAM_MAP);
}

int program_open_map(uint32_t map, char pin[BPF_OBJ_NAME_LEN])
{
	struct bpf_map_info info;
	int fd = open_map(map, &info);
	const char *name = program_pin_name(info.name);

	strcpy(pin, name ? name : "");
	return fd;
}

int program_find_map(const struct program *program, const char *pin, uint32_t *map)
{
	for (uint32_t i = 0; i < program->n_maps; i++) {
		char name[BPF_OBJ_NAME_LEN];
		SCOPED_FD int fd = program_open_map(program->maps[i], name);

		if (fd < 0)
			return fd;
		if (strcmp(name, pin))
			continue;
		*map = program->maps[i];
		return 0;
	}
	*map = 0;
	return 0;
}

/* libbpf names the map of a section of constants after the object, cut short, and the section. */
static bool is_constants(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && !strcmp(dot, ".rodata");
}

static int read_section(int fd, const struct bpf_map_info *info, struct constants *constants)
{
	uint32_t zero = 0;

	constants->map = info->id;
	constants->section = info->btf_value_type_id;
	constants->btf = btf__load_from_kernel_by_id(info->btf_id);
	constants->bytes = calloc(1, info->value_size);
	/* libbpf makes a map without BTF if the kernel has no memory for BTF */
	if (!constants->btf || !constants->bytes)
		return constants->btf ? -ENOMEM : -EILSEQ;
	return bpf_map_lookup_elem(fd, &zero, constants->bytes) ? -errno : 0;
}

int constants_read(const struct program *program, const struct program *but,
		   struct constants *constants)
{
	*constants = (struct constants){};
	for (uint32_t i = 0; i < program->n_maps; i++) {
		bool skip = but && program_has(but, program->maps[i]);
		struct bpf_map_info info;
		SCOPED_FD int fd = skip ? -1 : open_map(program->maps[i], &info);

		if (skip)
			continue;
		if (fd < 0)
			return fd;
		if (is_constants(info.name))
			return read_section(fd, &info, constants);
	}
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

/* Coarse clocks advance once a jiffy. */
uint64_t program_jiffies_per_second(void)
{
	struct timespec jiffy;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &jiffy) || jiffy.tv_sec || !jiffy.tv_nsec)
		return 250;
	return 1000000000 / jiffy.tv_nsec;
}

/* The kernel starts jiffies five minutes before their low 32 bits overflow. */
uint32_t program_tick_before(unsigned int seconds)
{
	uint64_t hz = program_jiffies_per_second();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint32_t) - (300 * hz) + (now.tv_sec - seconds) * hz) >> BH_TICK_SHIFT;
}
