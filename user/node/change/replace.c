// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "maps/iface.h"
#include "node/change/larger_maps.h"
#include "node/change/replace.h"
#include "node/kernel/attach.h"
#include "node/kernel/connections.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/programs.h"
#include "node/kernel/rcu.h"
#include "node/kernel/socket_link.h"

static uint32_t map_id(int map)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

	return bpf_obj_get_info_by_fd(map, &info, &length) ? 0 : info.id;
}

/* Fills the maps that the programs' object made in place of an older build's. */
static int fill_maps(struct node_handle *handle, const struct programs *programs)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		const int map = programs_map(programs, node_map_names[i]);
		CLEANUP(table_free) struct table have = {};
		int error;

		if (map < 0 || map_id(map) == map_id(handle->maps[i]))
			continue;
		maps_init_table(i, &have);
		error = maps_read(handle, i, &have);
		if (!error)
			error = table_write(&have, map);
		if (error)
			return node_fail(handle, error, "cannot copy the map %s",
					 node_map_names[i]);
		handle->writes += have.n;
	}
	return 0;
}

static int renew_hooks(struct node_handle *handle)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error = socket_attach(handle);

	if (error)
		return error;
	table_init(&ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	error = table_read(&ifaces, handle->maps[MAP_ifaces]);
	if (error)
		return node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
	for (size_t i = 0; !error && i < ifaces.n; i++)
		error = attach_renew(handle, *(uint32_t *)table_key(&ifaces, i),
				     ((struct bh_iface *)table_value(&ifaces, i))->flags);
	return error;
}

/* Copies the connections into the larger table, and pins the former one until the programs of all
 * hooks use the larger one. */
static int copy_connections(struct node_handle *handle, const struct programs *programs)
{
	SCOPED_FD int former = pins_get(handle, CONNECTIONS);
	uint64_t lost = 0;
	int error = former < 0 ? former : 0;

	if (!error)
		error = connections_copy(handle, former, programs_map(programs, CONNECTIONS),
					 &lost);
	if (!error && lost)
		error = -ENOSPC;
	if (error)
		return node_fail(handle, error, "cannot copy the connections to a larger table");
	return pins_put_map(handle, CONNECTIONS_FORMER, former);
}

/* Copies what programs have opened in the former table since, and removes its pin. No program works
 * on it any more. */
static int finish_connections(struct node_handle *handle)
{
	SCOPED_FD int former = pins_get(handle, CONNECTIONS_FORMER);
	SCOPED_FD int active = pins_get(handle, CONNECTIONS);
	uint64_t lost = 0;
	int error = former < 0 ? former : active < 0 ? active : 0;

	if (former == -ENOENT)
		return 0;
	if (!error)
		error = rcu_wait(handle);
	if (!error)
		error = connections_copy(handle, former, active, &lost);
	if (error)
		return node_fail(handle, error, "cannot copy the connections to a larger table");
	if (lost)
		diag_warn(handle->diag, NULL, NULL,
			  "%llu connections that opened meanwhile found no place in the larger "
			  "table",
			  (unsigned long long)lost);
	return pins_remove(handle, CONNECTIONS_FORMER);
}

int replace(struct node_handle *handle, const struct programs *programs,
	    const struct capacity *capacity)
{
	int error = fill_maps(handle, programs);

	if (!error && capacity->connections)
		error = copy_connections(handle, programs);

	if (!error)
		error = programs_pin(handle, programs);
	if (!error)
		error = pins_open_maps(handle);
	if (!error)
		error = renew_hooks(handle);
	if (!error)
		error = finish_connections(handle);
	return error;
}

/* Pins the maps that PROGRAM_INGRESS uses. */
static int follow_ingress(struct node_handle *handle)
{
	const struct program *ingress;
	int error = pins_program(handle, PROGRAM_INGRESS, &ingress);

	if (error)
		return node_fail_pinned(handle, error, "cannot read %s/%s", handle->pin,
					node_program_names[PROGRAM_INGRESS]);
	for (uint32_t i = 0; !error && i < ingress->n_maps; i++) {
		char pin[BPF_OBJ_NAME_LEN];
		SCOPED_FD int map = program_open_map(ingress->maps[i], pin);

		if (map < 0)
			error = node_fail(handle, map, "cannot open a map of %s",
					  node_program_names[PROGRAM_INGRESS]);
		else if (*pin)
			error = pins_put_map(handle, pin, map);
	}
	return error;
}

static bool are_current(struct node_handle *handle)
{
	for (enum node_program i = PROGRAM_INGRESS + 1; i < N_NODE_PROGRAMS; i++) {
		const struct program *program;

		if (pins_program(handle, i, &program) || !programs_is_current(handle, program))
			return false;
	}
	return true;
}

int replace_finish(struct node_handle *handle)
{
	CLEANUP(programs_free) struct programs programs = {};
	const struct capacity none = {};
	int error = pins_open_maps(handle);

	if (!error)
		error = follow_ingress(handle);
	if (!error)
		error = larger_maps_finish(handle);
	if (!error && !are_current(handle)) {
		error = programs_load(handle, &none, &programs);
		if (!error)
			error = programs_pin(handle, &programs);
		if (!error)
			error = pins_open_maps(handle);
	}
	if (!error)
		error = renew_hooks(handle);
	if (!error)
		error = finish_connections(handle);
	return error ? error : pins_remove(handle, PINS_NEW);
}
