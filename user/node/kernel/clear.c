// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>

#include "node/kernel/active_map.h"
#include "node/kernel/attach.h"
#include "node/kernel/folder.h"
#include "node/kernel/pin_folder.h"

/* Opens bh_ifaces, which says which qdiscs are ours. The map's pin may be gone or another
 * program's, so the map is found through the active programs. */
static int open_ifaces(struct node_handle *handle)
{
	const struct program *ingress;
	uint32_t id;
	int fd = -1;

	if (handle->maps[MAP_ifaces] >= 0)
		return 0;
	if (!pins_program(handle, PROGRAM_INGRESS, &ingress) &&
	    !active_map_of(ingress, MAP_ifaces, &id) && id)
		fd = bpf_map_get_fd_by_id(id);
	if (fd < 0)
		fd = pins_get(handle, node_map_names[MAP_ifaces]);
	if (fd >= 0)
		handle->maps[MAP_ifaces] = fd;
	else if (fd != -ENOENT)
		return node_fail(handle, fd, "cannot open %s/%s", handle->pin,
				 node_map_names[MAP_ifaces]);
	return 0;
}

int node_clear(struct node_handle *handle)
{
	int error;

	if (handle->config)
		__atomic_store_n(&handle->config->generation, 0, __ATOMIC_RELEASE);
	error = open_ifaces(handle);
	/* The maps, which list interfaces, may be damaged. */
	if (!error)
		error = attach_every(handle, attach_remove);
	pins_close(handle);
	return error ? error : folder_empty(handle);
}
