// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cni/device.h"
#include "node/kernel/handle.h"
#include "node/kernel/rtnl.h"

static bool is_same_file(int a, int b)
{
	struct stat left, right;

	return !fstat(a, &left) && !fstat(b, &right) && left.st_ino == right.st_ino &&
	       left.st_dev == right.st_dev;
}

/* Opens a netlink socket in another network namespace, and returns to this one. */
static struct mnl_socket *open_there(int there, int here)
{
	struct mnl_socket *socket;
	int error;

	if (setns(there, CLONE_NEWNET))
		return NULL;
	socket = rtnl_open();
	error = errno;
	if (setns(here, CLONE_NEWNET))
		abort(); /* all further steps would happen in the wrong namespace */
	errno = error;
	return socket;
}

static int ask(struct cni_call *call, int there, int here, struct link *inside)
{
	CLEANUP(rtnl_close) struct mnl_socket *socket = NULL;
	int error;

	if (is_same_file(there, here))
		return cni_fail(call, CNI_ERROR_ENVIRONMENT,
				"CNI_NETNS is %s, the node's own network namespace", call->netns);
	socket = open_there(there, here);
	if (!socket)
		return cni_fail(call, CNI_ERROR_NODE, "cannot enter CNI_NETNS %s: %s", call->netns,
				strerror(errno));
	error = rtnl_link(socket, call->ifname, 0, inside);
	if (error)
		return cni_fail(call, CNI_ERROR_INTERFACE, "interface %s in %s: %s", call->ifname,
				call->netns, strerror(-error));
	return 0;
}

/* Returns true if @outside, an interface of this namespace, is the other side of @inside, which is
 * in the namespace @there. Other pairs may have the same numbers. */
static bool is_pair(struct mnl_socket *socket, const struct link *outside,
		    const struct link *inside, int there)
{
	int32_t number;

	return outside->veth && outside->lower == inside->ifindex && outside->elsewhere &&
	       !rtnl_namespace(socket, there, &number) && number == outside->lower_ns;
}

/* Finds the other side of a veth pair. */
static int find_outside(struct cni_call *call, int there, const struct link *inside,
			struct device *device)
{
	CLEANUP(rtnl_close) struct mnl_socket *socket = rtnl_open();
	struct link outside;

	if (!socket)
		return cni_fail(call, CNI_ERROR_NODE, "cannot open rtnetlink: %s", strerror(errno));
	if (!inside->veth || rtnl_link(socket, NULL, inside->lower, &outside) ||
	    !is_pair(socket, &outside, inside, there))
		return cni_fail(call, CNI_ERROR_INTERFACE,
				"interface %s has no other side on this node, where it could be "
				"guarded: a plugin such as bridge or ptp makes one that has",
				call->ifname);
	device->ifindex = outside.ifindex;
	memcpy(device->name, outside.name, sizeof(device->name));
	memcpy(device->mac, inside->mac, sizeof(device->mac));
	return 0;
}

int device_find(struct cni_call *call, struct device *device)
{
	SCOPED_FD int there = open(call->netns, O_RDONLY | O_CLOEXEC);
	SCOPED_FD int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct link inside;
	int code;

	if (there < 0)
		return cni_fail(call, CNI_ERROR_ENVIRONMENT, "CNI_NETNS: cannot open %s: %s",
				call->netns, strerror(errno));
	if (here < 0)
		return cni_fail(call, CNI_ERROR_IO, "cannot open the node's network namespace: %s",
				strerror(errno));
	code = ask(call, there, here, &inside);
	return code ? code : find_outside(call, there, &inside, device);
}

/* Returns true if an address of the result belongs to the interface. An address that names no
 * interface does. */
static bool is_ours(const struct cni_call *call, struct json_object *ip)
{
	struct json_object *number = cni_member(ip, "interface", json_type_int);
	struct json_object *list = cni_member(call->prev, "interfaces", json_type_array);
	struct json_object *one;
	const char *name;

	if (!number || !list)
		return true;
	one = json_object_array_get_idx(list, json_object_get_int(number));
	name = one ? cni_text(one, "name") : NULL;
	return name && !strcmp(name, call->ifname) && cni_text(one, "sandbox");
}

static int read_address(struct cni_call *call, struct json_object *ip, size_t i,
			struct address *address)
{
	const char *text = cni_text(ip, "address");
	char plain[ADDRESS_TEXT];

	if (text && strlen(text) < sizeof(plain)) {
		snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(text, "/"), text);
		if (!address_parse(plain, address))
			return 0;
	}
	return cni_fail(call, CNI_ERROR_CONFIG,
			"prevResult.ips[%zu].address is %s: it must be a CIDR", i,
			text ? text : "missing");
}

int device_addresses(struct cni_call *call, struct address **addresses, size_t *n)
{
	struct json_object *ips = cni_member(call->prev, "ips", json_type_array);
	const size_t count = ips ? json_object_array_length(ips) : 0;
	struct address *found = calloc(count + 1, sizeof(*found));
	int code = 0;

	*n = 0;
	*addresses = found;
	if (!found)
		return cni_fail(call, CNI_ERROR_IO, "out of memory");
	for (size_t i = 0; !code && i < count; i++) {
		struct json_object *ip = json_object_array_get_idx(ips, i);

		if (is_ours(call, ip))
			code = read_address(call, ip, i, &found[(*n)++]);
	}
	if (!code)
		*n = addresses_sort(found, *n);
	return code;
}
