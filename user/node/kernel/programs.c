// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "loader.skel.h"
#include "maps/conntrack.h"
#include "node/kernel/connections.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/programs.h"
#include "node/kernel/settings.h"
#include "node/kernel/translations.h"
#include "node/kernel/verify.h"
#include "tc.skel.h"

#define CONNTRACK_LOOKUP "bpf_skb_ct_lookup"

/* Returns a map's pin name; NULL: libbpf makes the map (.rodata). */
static const char *pin_name(const struct bpf_map *map)
{
	return bpf_map__is_internal(map) ? NULL : program_pin_name(bpf_map__name(map));
}

/* @defined: the size in the map's definition. */
static uint32_t room_for(const struct capacity *capacity, const char *pin, uint32_t defined)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (!strcmp(node_map_names[i], pin))
			/* of maps that are there, larger_maps() makes larger ones */
			return !capacity->first || (node_map_kinds[i] == MAP_KIND_LOCAL &&
						    capacity->entries[i] < defined)
				       ? 0
				       : capacity->entries[i];
	if (!strcmp(pin, CONNECTIONS))
		return capacity->connections ? BH_CT_GROUPS(capacity->connections) : 0;
	return 0;
}

/* Reuses a pinned map. A map of the same ABI with another layout is not ours. */
static int reuse_map(struct node_handle *handle, struct bpf_map *map, int fd)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	int error = bpf_obj_get_info_by_fd(fd, &info, &length) ? -errno : 0;

	if (!error && (info.type != bpf_map__type(map) || info.key_size != bpf_map__key_size(map) ||
		       info.value_size != bpf_map__value_size(map)))
		error = -EILSEQ;
	if (!error)
		error = bpf_map__reuse_fd(map, fd);
	if (error)
		return node_fail(handle, error, "cannot use %s/%s", handle->pin, pin_name(map));
	return 0;
}

/* Returns true if the pinned array is of an older build that had no places, and cannot be in one:
 * the object makes another, and replace() copies the entries of a policy. Hits of rules begin at 0.
 */
static bool cannot_be_placed(const struct bpf_map *map, int fd, uint32_t *entries)
{
	const bool hits = bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY;
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return false;
	*entries = hits ? bpf_map__max_entries(map) : info.max_entries;
	return *entries != info.max_entries ||
	       bpf_map__map_flags(map) & ~info.map_flags & BPF_F_INNER_MAP;
}

static int share_map(struct node_handle *handle, struct bpf_map *map)
{
	const char *name = pin_name(map);
	SCOPED_FD int fd = name ? pins_get(handle, name) : -ENOENT;
	uint32_t entries;

	/* the object makes it */
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return node_fail(handle, fd, "cannot open %s/%s", handle->pin, name);
	if (cannot_be_placed(map, fd, &entries))
		return bpf_map__set_max_entries(map, entries);
	return reuse_map(handle, map, fd);
}

int programs_share_maps(struct node_handle *handle, struct bpf_object *object)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, object) {
		if (!error)
			error = share_map(handle, map);
	}
	return error;
}

void programs_free(struct programs *programs)
{
	bh_tc__destroy(programs->tc);
	bh_loader__destroy(programs->loader);
}

/* Finds the build of a program. Programs that share a map of constants are of one build. Maps that
 * the program shares with PROGRAM_INGRESS are otherwise no constants, and are skipped. */
static int read_build(struct node_handle *handle, const struct program *program, uint64_t *build)
{
	const struct program *ingress = &handle->programs[PROGRAM_INGRESS];
	CLEANUP(constants_free) struct constants constants = {};
	int error = 0;

	*build = handle->told.number;
	if (handle->told.map && program_has(program, handle->told.map))
		return 0;
	*build = 0;
	error = constants_read(program, program_has(ingress, handle->told.map) ? ingress : NULL,
			       &constants);
	/* programs of old commands have no build number */
	if (error)
		return error == -ENOENT || error == -EILSEQ ? 0 : error;
	constants_get(&constants, "build", build, sizeof(*build));
	if (!handle->told.map)
		handle->told = (struct build){constants.map, *build};
	return 0;
}

/* Returns true if the program's constants can be read. libbpf goes on without BTF if the kernel has
 * no memory for it. */
static bool has_build(struct node_handle *handle, int loaded)
{
	struct program program;
	uint64_t build;

	return !program_read(loaded, &program) && !read_build(handle, &program, &build) &&
	       build == BUILD_ID;
}

/* Makes the kernel load its conntrack modules: the kernel loads them for any question about a
 * connection. */
static void load_conntrack(void)
{
	const struct tuple any = {};
	struct nfct_handle *conntrack = NULL;
	struct tuple before;

	translation_ask(&conntrack, &any, &before);
	translation_close(conntrack);
}

/* Returns true if programs may ask the kernel's conntrack (kern/netfilter.h): conntrack is built
 * in, or a loaded module. */
static bool conntrack_is_available(void)
{
	if (program_kernel_has(CONNTRACK_LOOKUP))
		return true;
	load_conntrack();
	return program_kernel_has(CONNTRACK_LOOKUP);
}

/* Finds the maps, and makes the constants. */
static int prepare_tc(struct node_handle *handle, const struct capacity *capacity, struct bh_tc *tc)
{
	struct bpf_map *map;
	int error = settings_apply(handle, tc, capacity->connections);

	tc->rodata->kernel_conntrack = tc->rodata->ask_conntrack && conntrack_is_available();
	if (!tc->rodata->kernel_conntrack)
		diag_note(
			handle->diag, NULL, NULL,
			"the kernel's conntrack: %s; a masqueraded packet is evaluated as sent by "
			"the endpoint at whose interface it came in, or else by the node",
			tc->rodata->ask_conntrack ? "cannot be asked" : "not asked");

	bpf_object__for_each_map(map, tc->obj) {
		uint32_t entries =
			pin_name(map) ? room_for(capacity, pin_name(map), bpf_map__max_entries(map))
				      : 0;

		if (!error)
			error = entries ? bpf_map__set_max_entries(map, entries)
					: share_map(handle, map);
	}
	if (error)
		return error;
	tc->rodata->build = BUILD_ID;
	/* Early at a boot the kernel may have no random numbers yet. */
	if (getrandom(&tc->rodata->instance, sizeof(tc->rodata->instance), GRND_NONBLOCK) < 0)
		tc->rodata->instance = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	tc->rodata->kern_ctx = program_kernel_has("bpf_cast_to_kern_ctx");
	return 0;
}

/* -d prints how many instructions the verifier walked. */
#define LOG_STATS 4 /* the kernel's BPF_LOG_STATS */

static int load_tc(struct node_handle *handle, struct bh_tc *tc)
{
	bool made = false;
	int error = verify_load(tc, node_debugs() ? LOG_STATS : 0, &made);

	if (!error && !has_build(handle, bpf_program__fd(tc->progs.tc_from_endpoint)))
		error = -ENOMEM;
	return error ? node_fail(handle, error,
				 made ? "cannot load the TC programs" : "cannot make the maps")
		     : 0;
}

/* Loads the loader's own programs. They use the others' maps and one of their own. */
static int load_loader(struct node_handle *handle, const struct bh_tc *tc, struct bh_loader *loader)
{
	struct bpf_map *map, *other;
	int error = 0;

	bpf_object__for_each_map(map, loader->obj) {
		other = pin_name(map) ? bpf_object__find_map_by_name(tc->obj, bpf_map__name(map))
				      : NULL;
		if (!error)
			error = other ? reuse_map(handle, map, bpf_map__fd(other))
				      : share_map(handle, map);
	}
	if (error)
		return error;
	loader->rodata->build = BUILD_ID;
	error = bh_loader__load(loader);
	return error ? node_fail(handle, error, "cannot load the programs assign and forget") : 0;
}

void programs_print_capacity(struct node_handle *handle, const struct capacity *capacity)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (capacity->needs[i])
			diag_note(handle->diag, NULL, NULL,
				  "map %s: needs %zu entries; it was to be made for %u",
				  node_map_names[i], capacity->needs[i], capacity->entries[i]);
}

int programs_load(struct node_handle *handle, const struct capacity *capacity,
		  struct programs *programs)
{
	int error = verify_register();

	if (error)
		return node_fail(handle, error, "cannot open the programs");
	programs->tc = bh_tc__open();
	programs->loader = bh_loader__open();
	if (!programs->tc || !programs->loader)
		return node_fail(handle, -errno, "cannot open the programs");
	error = prepare_tc(handle, capacity, programs->tc);
	if (error)
		return error;
	error = load_tc(handle, programs->tc);
	if (error)
		programs_print_capacity(handle, capacity);
	return error ? error : load_loader(handle, programs->tc, programs->loader);
}

static struct bpf_map *find_map(const struct programs *programs, const char *pin)
{
	char name[BPF_OBJ_NAME_LEN];

	snprintf(name, sizeof(name), "bh_%s", pin);
	return bpf_object__find_map_by_name(programs->tc->obj, name);
}

int programs_map(const struct programs *programs, const char *pin)
{
	struct bpf_map *map = find_map(programs, pin);

	return map ? bpf_map__fd(map) : -1;
}

static int pin_maps(struct node_handle *handle, const struct bpf_object *object)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, object) {
		if (!error && pin_name(map))
			error = pins_put_map(handle, pin_name(map), bpf_map__fd(map));
	}
	return error;
}

/* Returns the fd of a program that was loaded. */
static int loaded(const struct programs *programs, enum node_program which)
{
	if (which == PROGRAM_ASSIGN)
		return bpf_program__fd(programs->loader->progs.assign);
	if (which == PROGRAM_FORGET)
		return bpf_program__fd(programs->loader->progs.forget);
	return bpf_program__fd(
		bpf_object__find_program_by_name(programs->tc->obj, node_program_names[which]));
}

int programs_pin(struct node_handle *handle, const struct programs *programs)
{
	int error = 0;

	for (enum node_program i = 0; !error && i < N_NODE_PROGRAMS; i++)
		error = pins_put(handle, node_program_names[i], loaded(programs, i));
	if (!error)
		error = pin_maps(handle, programs->tc->obj);
	return error ? error : pin_maps(handle, programs->loader->obj);
}

/* Calls @visit for the map, and the first map in its places, if no pin has their names. */
static int visit_unpinned(struct node_handle *handle, uint32_t map, program_unpinned *visit,
			  void *data)
{
	const uint32_t first = 0;
	char pin[BPF_OBJ_NAME_LEN];
	uint32_t placed;
	SCOPED_FD int fd = program_open_map(map, pin);
	SCOPED_FD int there = fd < 0 || !*pin ? fd : pins_get(handle, pin);
	int error;

	if (fd < 0)
		return node_fail(handle, fd, "cannot open a map of the programs");
	if (!strncmp(pin, PROGRAM_PLACE, strlen(PROGRAM_PLACE)) &&
	    !bpf_map_lookup_elem(fd, &first, &placed)) {
		error = visit_unpinned(handle, placed, visit, data);
		if (error)
			return error;
	}
	return *pin && there == -ENOENT ? visit(data, pin, fd) : 0;
}

int programs_unpinned(struct node_handle *handle, program_unpinned *visit, void *data)
{
	const struct program *ingress = &handle->programs[PROGRAM_INGRESS];
	int error = 0;

	for (enum node_program i = 0; !error && i < N_NODE_PROGRAMS; i++) {
		const struct program *program;

		if (pins_program(handle, i, &program))
			continue;
		for (uint32_t k = 0; !error && k < program->n_maps; k++)
			if (i == PROGRAM_INGRESS || !program_has(ingress, program->maps[k]))
				error = visit_unpinned(handle, program->maps[k], visit, data);
	}
	return error;
}

static int pin_again(void *data, const char *pin, int fd)
{
	struct node_handle *handle = data;
	int error = pins_put(handle, pin, fd);

	if (!error)
		diag_warn(handle->diag, NULL, NULL, "the pin %s/%s was missing: it is put back",
			  handle->pin, pin);
	return error;
}

int programs_pin_again(struct node_handle *handle)
{
	return programs_unpinned(handle, pin_again, handle);
}

/* Returns true if the programs could ask the kernel's conntrack if they were loaded again:
 * conntrack was missing when they were loaded, and is there now. */
static bool can_ask_more(const struct program *ingress)
{
	CLEANUP(constants_free) struct constants constants = {};
	uint32_t asks = 1, may = 1;

	if (!constants_read(ingress, NULL, &constants)) {
		constants_get(&constants, "kernel_conntrack", &asks, sizeof(asks));
		constants_get(&constants, "ask_conntrack", &may, sizeof(may));
	}
	return !asks && may && conntrack_is_available();
}

int programs_are_own(struct node_handle *handle, bool *own)
{
	const struct program *ingress;

	*own = true;
	for (enum node_program i = 0; i < N_NODE_PROGRAMS; i++) {
		const struct program *program;
		uint64_t build = 0;
		int error = pins_program(handle, i, &program);

		if (error == -ENOENT && i == PROGRAM_FORGET)
			error = 0;
		else if (!error)
			error = read_build(handle, program, &build);
		if (error)
			return node_fail_pinned(handle, error, "cannot read %s/%s", handle->pin,
						node_program_names[i]);
		*own &= build == BUILD_ID;
	}
	if (*own && !pins_program(handle, PROGRAM_INGRESS, &ingress))
		*own = !can_ask_more(ingress);
	return 0;
}

/* Returns true if the map is none of ours, or @ingress uses no map of the same name, so that this
 * map is the only one. */
static bool is_current_map(const struct program *ingress, uint32_t map)
{
	char pin[BPF_OBJ_NAME_LEN];
	SCOPED_FD int fd = program_open_map(map, pin);
	uint32_t other = 0;

	return fd >= 0 && (!*pin || (!program_find_map(ingress, pin, &other) && !other));
}

bool programs_is_current(struct node_handle *handle, const struct program *program)
{
	const struct program *ingress;
	uint64_t pinned, build;

	if (pins_program(handle, PROGRAM_INGRESS, &ingress) ||
	    read_build(handle, ingress, &pinned) || read_build(handle, program, &build) ||
	    (build != pinned && build != BUILD_ID))
		return false;
	for (uint32_t i = 0; i < program->n_maps; i++)
		if (!program_has(ingress, program->maps[i]) &&
		    !is_current_map(ingress, program->maps[i]))
			return false;
	return true;
}

/* Finds a map that every program of ours uses: the configuration, or the place of bh_endpoints
 * where the configuration's pin is gone. Sets handle->mark to the map's ID, or leaves 0 if neither
 * is pinned: no program is ours then. */
static int find_mark(struct node_handle *handle)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int config = pins_get(handle, "config");
	SCOPED_FD int next =
		config == -ENOENT ? pins_get(handle, PROGRAM_PLACE "endpoints") : -ENOENT;
	const int fd = config == -ENOENT ? next : config;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	handle->mark = info.id;
	return 0;
}

int programs_is_ours(struct node_handle *handle, uint32_t id, bool *ours)
{
	int error = handle->mark ? 0 : find_mark(handle);
	SCOPED_FD int fd = -1;
	struct program program;

	*ours = false;
	if (error || !handle->mark || !id)
		return error;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	error = program_read(fd, &program);
	*ours = !error && program_has(&program, handle->mark);
	return error == -EOVERFLOW ? 0 : error;
}
