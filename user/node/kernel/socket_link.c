// SPDX-License-Identifier: GPL-2.0-only
#include "node/kernel/socket_link.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "node/kernel/pin_folder.h"

/* Returns true if the link is in the network namespace that @ns refers to. A link whose namespace
 * is gone has no number. */
static bool is_here(int link, int ns, uint32_t *program)
{
	struct bpf_link_info info = {};
	uint32_t length = sizeof(info);
	struct stat own;

	if (bpf_obj_get_info_by_fd(link, &info, &length) || fstat(ns, &own))
		return false;
	*program = info.prog_id;
	return info.type == BPF_LINK_TYPE_NETNS && info.netns.netns_ino == own.st_ino;
}

static int make_link(struct node_handle *handle, int program, int ns)
{
	SCOPED_FD int link = bpf_link_create(program, ns, BPF_SK_LOOKUP, NULL);

	if (link < 0)
		return -errno;
	return pins_put(handle, SOCKET_LINK, link);
}

static int attach(struct node_handle *handle, int ns)
{
	SCOPED_FD int program = pins_get_program(handle, PROGRAM_SOCKET);
	SCOPED_FD int link = pins_get(handle, SOCKET_LINK);
	uint32_t id;

	if (program < 0)
		return program;
	if (link >= 0 && is_here(link, ns, &id))
		return bpf_link_update(link, program, NULL) ? -errno : 0;
	return make_link(handle, program, ns);
}

int socket_attach(struct node_handle *handle)
{
	SCOPED_FD int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int error = ns < 0 ? -errno : attach(handle, ns);

	return error ? node_fail(handle, error, "cannot attach %s to the network namespace",
				 node_program_names[PROGRAM_SOCKET])
		     : 0;
}

bool socket_is_attached(struct node_handle *handle)
{
	SCOPED_FD int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	SCOPED_FD int link = pins_get(handle, SOCKET_LINK);
	const struct program *pinned;
	uint32_t id;

	return ns >= 0 && link >= 0 && is_here(link, ns, &id) &&
	       !pins_program(handle, PROGRAM_SOCKET, &pinned) && pinned->id == id;
}
