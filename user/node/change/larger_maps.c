// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "node/change/larger_maps.h"
#include "node/kernel/active_map.h"
#include "node/kernel/maps.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/rcu.h"
#include "node/kernel/rule_hits.h"

/* The larger maps. */
struct larger {
	int fd[N_NODE_MAPS]; /* -1: the map stays */
};

static void larger_close(struct larger *larger)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		cleanup_fd(&larger->fd[i]);
}

/* Makes a larger map, and fills it like the active one. */
static int make(struct node_handle *handle, enum node_map_id map, uint32_t entries, int *fd)
{
	CLEANUP(table_free) struct table have = {};
	int error;

	maps_init_table(map, &have);
	*fd = active_map_like(handle->maps[map], entries);
	error = *fd < 0 ? *fd : maps_read(handle, map, &have);
	if (!error)
		error = table_write(&have, *fd);
	handle->writes += have.n;
	return error;
}

static int put(struct node_handle *handle, enum node_map_id map, uint32_t entries, int *fd)
{
	int error;

	rcu_expedite(handle);
	/* programs do not read bh_added: its pin is its place */
	error = map == MAP_added ? 0 : active_map_put(handle, map, *fd);
	if (error)
		return node_fail(handle, error, "cannot replace the map %s by a larger one",
				 node_map_names[map]);
	cleanup_fd(&handle->maps[map]);
	handle->maps[map] = TAKE_FD(*fd);
	handle->capacity[map] = entries;
	return pins_put_map(handle, node_map_names[map], handle->maps[map]);
}

int larger_maps(struct node_handle *handle, const struct capacity *capacity)
{
	CLEANUP(larger_close) struct larger larger;
	int error = 0;

	memset(&larger, -1, sizeof(larger));
	if (capacity->rules)
		error = rule_hits_add(handle, capacity->rules);
	for (int i = 0; !error && i < N_NODE_MAPS; i++) {
		if (capacity->first || !capacity->entries[i])
			continue;
		error = make(handle, i, capacity->entries[i], &larger.fd[i]);
		if (error) {
			node_fail(handle, error, "cannot copy the map %s to a larger one",
				  node_map_names[i]);
			programs_print_capacity(handle, capacity);
		}
	}
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (larger.fd[i] >= 0)
			error = put(handle, i, capacity->entries[i], &larger.fd[i]);
	return error;
}

int larger_maps_finish(struct node_handle *handle)
{
	int error = 0;

	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (handle->maps[i] >= 0)
			error = pins_put_map(handle, node_map_names[i], handle->maps[i]);
	return error;
}
