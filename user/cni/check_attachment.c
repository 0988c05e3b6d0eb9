// SPDX-License-Identifier: GPL-2.0-only
/* CHECK: whether all is as ADD left it. STATUS: whether ADD could work. */
#include <errno.h>
#include <string.h>

#include "cni/attachment.h"
#include "cni/device.h"
#include "node/kernel/handle.h"

static int check_addresses(struct cni_call *call, const struct attachment *attachment)
{
	SCOPED_FREE struct address *addresses = NULL;
	size_t n;
	int code = device_addresses(call, &addresses, &n);

	if (!code && (n != attachment->n_addresses ||
		      memcmp(addresses, attachment->addresses, n * sizeof(*addresses))))
		code = cni_fail(call, CNI_ERROR_CHECK,
				"prevResult has other addresses than the pod was attached with");
	return code;
}

static int check_device(struct cni_call *call, const struct attachment *attachment)
{
	struct device device;
	int code = device_find(call, &device);

	if (!code && device.ifindex != attachment->ifindex)
		code = cni_fail(call, CNI_ERROR_CHECK, "%s is not the interface that was attached",
				device.name);
	return code;
}

static int check_owner(struct cni_call *call, struct node_handle *handle,
		       const struct attachment *attachment, const struct address *address)
{
	char text[ADDRESS_TEXT];
	struct node_owner owner;

	address_print(address, text);
	if (node_address_owner(handle, address, &owner))
		return cni_fail(call, CNI_ERROR_CHECK, "%s is no endpoint's: %s/%s is not active",
				text, attachment->pod_ns, attachment->name);
	if (!attachment_is_owner(attachment, &owner))
		return cni_fail(call, CNI_ERROR_CHECK, "%s is %s/%s's, not %s/%s's", text, owner.ns,
				owner.name, attachment->pod_ns, attachment->name);
	if (owner.ifindex != attachment->ifindex)
		return cni_fail(call, CNI_ERROR_CHECK, "%s is at another interface than %s", text,
				attachment->host_name);
	return 0;
}

static int check_node(struct cni_call *call, struct node_handle *handle,
		      const struct attachment *attachment)
{
	bool guarded = false;
	int code = 0;

	if (!node_is_loaded(handle))
		return cni_fail(call, CNI_ERROR_CHECK, "no policy is active");
	if (node_is_guarded(handle, attachment->ifindex, &guarded) || !guarded)
		return cni_fail(call, CNI_ERROR_CHECK, "%s lacks programs of the active policy",
				attachment->host_name);
	for (size_t i = 0; !code && i < attachment->n_addresses; i++)
		code = check_owner(call, handle, attachment, &attachment->addresses[i]);
	return code;
}

int cni_check(struct cni_call *call)
{
	CLEANUP(attachment_free) struct attachment attachment = {};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	int code;

	if (!call->prev)
		return cni_fail(call, CNI_ERROR_CONFIG, "prevResult is missing");
	if (attachment_read(call, &attachment))
		return cni_fail(call, CNI_ERROR_CHECK, "%s of container %s is not attached",
				call->ifname, call->container);
	code = check_device(call, &attachment);
	if (!code)
		code = check_addresses(call, &attachment);
	if (!code && node_open(&call->node, false, &call->diag, &handle))
		code = cni_fail(call, CNI_ERROR_NODE, "cannot open the pin folder");
	return code ? code : check_node(call, handle, &attachment);
}

int cni_status(struct cni_call *call)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;

	if (node_open(&call->node, false, &call->diag, &handle))
		return cni_fail(call, CNI_ERROR_UNAVAILABLE, "cannot open the pin folder");
	return node_is_loaded(handle)
		       ? 0
		       : cni_fail(call, CNI_ERROR_UNAVAILABLE,
				  "no policy is active: `bulkhead load` puts one there");
}
