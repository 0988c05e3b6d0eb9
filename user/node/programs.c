// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "loader.skel.h"
#include "node/pins.h"
#include "node/programs.h"
#include "node/settings.h"
#include "tc.skel.h"

/* Room for what changes bring: a quarter more than the first policy needs, and what a small cluster
 * grows by. */
static uint32_t with_headroom(size_t need)
{
	size_t room = need + (need / 4 < 1024 ? 1024 : need / 4);

	return room > UINT32_MAX / 2 ? UINT32_MAX / 2 : room;
}

/* The coarse clocks advance once a jiffy. */
uint64_t programs_jiffies_per_second(void)
{
	struct timespec jiffy;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &jiffy) || jiffy.tv_sec || !jiffy.tv_nsec)
		return 250;
	return 1000000000 / jiffy.tv_nsec;
}

static int size_maps(struct bh_tc *tc, const struct policy *policy, const struct local *local)
{
	const struct {
		struct bpf_map *map;
		size_t need;
	} sizes[] = {
		{tc->maps.bh_endpoints, policy->n_addresses},
		{tc->maps.bh_prefixes, policy->n_prefixes + local->n_addresses},
		{tc->maps.bh_segments, policy->n_segments},
		{tc->maps.bh_pairs, policy->n_pairs},
		{tc->maps.bh_ports, policy->n_intervals},
		{tc->maps.bh_named, policy->n_named},
		{tc->maps.bh_variations, policy->n_variations},
		{tc->maps.bh_rule_hits, policy->next_rule},
	};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(sizes); i++)
		error = bpf_map__set_max_entries(sizes[i].map, with_headroom(sizes[i].need));
	return error;
}

/* The pin name of a map, which is its own without "bh_"; NULL: one that libbpf makes (.rodata). */
static const char *pin_name(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	return bpf_map__is_internal(map) ? NULL : name + strlen("bh_");
}

static int pin_maps(struct host *host, const struct bpf_object *object)
{
	struct bpf_map *map;
	char path[PATH_MAX];

	bpf_object__for_each_map(map, object)
	{
		const char *name = pin_name(map);

		if (name && bpf_obj_pin(bpf_map__fd(map), pins_path(host, name, path)))
			return node_fail(host, -errno, "cannot pin %s", path);
	}
	return 0;
}

static int pin_program(struct host *host, const struct bpf_program *program)
{
	char path[PATH_MAX];

	if (bpf_obj_pin(bpf_program__fd(program),
			pins_path(host, bpf_program__name(program), path)))
		return node_fail(host, -errno, "cannot pin %s", path);
	return 0;
}

int programs_share_maps(struct host *host, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = pin_name(map);
		SCOPED_FD int fd = -1;
		int error;

		if (!name)
			continue;
		fd = pins_get(host, name);
		/* One that the object itself brings. */
		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return node_fail(host, fd, "cannot open %s/%s", host->pin, name);
		error = bpf_map__reuse_fd(map, fd);
		if (error)
			return node_fail(host, error, "cannot use %s/%s", host->pin, name);
	}
	return 0;
}

static void tc_free(struct bh_tc **tc)
{
	bh_tc__destroy(*tc);
}

static void loader_free(struct bh_loader **loader)
{
	bh_loader__destroy(*loader);
}

static int create_tc(struct host *host, const struct policy *policy, const struct local *local)
{
	CLEANUP(tc_free) struct bh_tc *tc = bh_tc__open();
	int error;

	if (!tc)
		return node_fail(host, -errno, "cannot open the TC programs");
	error = settings_apply(host, tc);
	if (error)
		return error;
	error = size_maps(tc, policy, local);
	if (!error)
		error = bh_tc__load(tc);
	if (error)
		return node_fail(host, error, "cannot load the TC programs");
	error = pin_maps(host, tc->obj);
	if (!error)
		error = pin_program(host, tc->progs.tc_from_endpoint);
	if (!error)
		error = pin_program(host, tc->progs.tc_to_endpoint);
	if (!error)
		error = pin_program(host, tc->progs.tc_uplink);
	return error;
}

static int create_loader(struct host *host)
{
	CLEANUP(loader_free) struct bh_loader *loader = bh_loader__open();
	char path[PATH_MAX];
	int error;

	if (!loader)
		return node_fail(host, -errno, "cannot open the program assign");
	error = programs_share_maps(host, loader->obj);
	if (error)
		return error;
	error = bh_loader__load(loader);
	if (error)
		return node_fail(host, error, "cannot load the program assign");
	if (bpf_obj_pin(bpf_map__fd(loader->maps.bh_added), pins_path(host, "added", path)))
		return node_fail(host, -errno, "cannot pin %s", path);
	return pin_program(host, loader->progs.assign);
}

int programs_create(struct host *host, const struct policy *policy, const struct local *local)
{
	int error = create_tc(host, policy, local);

	return error ? error : create_loader(host);
}

/* A map that every program of ours reads: the configuration; the next one where its pin is gone. */
static int open_mark(const struct host *host)
{
	int fd = pins_get(host, "config");

	return fd < 0 ? pins_get(host, "endpoints") : fd;
}

bool programs_is_ours(const struct host *host, uint32_t id)
{
	uint32_t maps[64], length = sizeof(struct bpf_map_info);
	struct bpf_prog_info program = {.nr_map_ids = ARRAY_SIZE(maps), .map_ids = (uintptr_t)maps};
	struct bpf_map_info mark = {};
	SCOPED_FD int map = open_mark(host);
	SCOPED_FD int fd = -1;

	if (map < 0 || bpf_obj_get_info_by_fd(map, &mark, &length))
		return false;
	fd = id ? bpf_prog_get_fd_by_id(id) : -1;
	length = sizeof(program);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &program, &length))
		return false;
	for (uint32_t i = 0; i < program.nr_map_ids && i < ARRAY_SIZE(maps); i++)
		if (maps[i] == mark.id)
			return true;
	return false;
}
