// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "node/kernel/rights.h"

static const struct right {
	unsigned int number;
	const char *name;
} look = {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, change = {CAP_NET_ADMIN, "CAP_NET_ADMIN"};

/* If the kernel does not tell the capabilities, the calls that need them fail later. */
static bool has(const struct right *right)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};

	return syscall(SYS_capget, &header, sets) ||
	       sets[CAP_TO_INDEX(right->number)].effective & CAP_TO_MASK(right->number);
}

static int check(const struct node_handle *handle, const struct right *right)
{
	if (has(right))
		return 0;
	diag_error(handle->diag, NULL, NULL, "this process lacks the capability %s; run it as root",
		   right->name);
	return -EPERM;
}

int rights_to_look(const struct node_handle *handle)
{
	return check(handle, &look);
}

int rights_to_change(const struct node_handle *handle)
{
	int error = check(handle, &look);

	return error ? error : check(handle, &change);
}
