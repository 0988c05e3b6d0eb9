// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/apply.h"
#include "node/kernel/attach.h"
#include "node/kernel/folder.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/rights.h"
#include "node/kernel/rtnl.h"

static bool carries(struct node_handle *handle, uint32_t ifindex)
{
	struct attached attached;

	return attach_read(handle, ifindex, 0, &attached) || attached.ingress || attached.egress ||
	       attached.overtaken || attached.xdp == NODE_XDP_NATIVE ||
	       attached.xdp == NODE_XDP_GENERIC;
}

/* Lists the interfaces that carry Bulkhead's programs. Detaching asks all of them again. */
static int find_carriers(struct node_handle *handle, struct change *change)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(handle->rtnl, &links, &n);

	for (size_t i = 0; !error && i < n; i++)
		if (carries(handle, links[i].ifindex))
			error = table_add(&change->cleared, &links[i].ifindex, NULL);
	return error ? node_fail(handle, error, "cannot list the interfaces") : 0;
}

int node_unload(const struct node_options *options, struct diag *diag)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;
	CLEANUP(change_free) struct change change;
	int error = node_new(options, diag, &handle);

	change_init(&change, "unload");
	change.clear = change.remove_folder = true;
	if (!error)
		error = rights_to_change(handle);
	if (!error)
		error = pins_lock(handle, false);
	if (!error && handle->lock >= 0)
		error = folder_check(handle);
	if (!error && !options->dry_run)
		error = attach_every(handle, attach_remove_orphans);
	if (error || handle->lock < 0)
		return error;
	error = pins_open_config(handle);
	if (!error && options->dry_run)
		error = find_carriers(handle, &change);
	return error ? error : apply(handle, &change, NULL);
}
