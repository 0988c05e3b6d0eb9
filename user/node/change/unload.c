// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/apply.h"
#include "node/kernel/attach.h"
#include "node/kernel/folder.h"
#include "node/kernel/pins.h"
#include "node/kernel/rights.h"
#include "node/kernel/rtnl.h"

static bool carries(struct node_handle *host, uint32_t ifindex)
{
	struct attached attached;

	return attach_read(host, ifindex, 0, &attached) || attached.ingress || attached.egress ||
	       attached.xdp == NODE_XDP_NATIVE || attached.xdp == NODE_XDP_GENERIC;
}

/* Lists the interfaces that carry Bulkhead's programs. Detaching asks all of them again. */
static int find_carriers(struct node_handle *host, struct change *change)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(host->rtnl, &links, &n);

	for (size_t i = 0; !error && i < n; i++)
		if (carries(host, links[i].ifindex))
			error = table_add(&change->cleared, &links[i].ifindex, NULL);
	return error ? node_fail(host, error, "cannot list the interfaces") : 0;
}

int node_unload(const struct node_options *options, struct diag *diag)
{
	SCOPED_HOST struct node_handle *host = NULL;
	CLEANUP(change_free) struct change change;
	int error = node_new(options, diag, &host);

	change_init(&change, "unload");
	change.clear = change.remove_folder = true;
	if (!error)
		error = rights_to_change(host);
	if (!error)
		error = pins_lock(host, false);
	if (error || host->lock < 0)
		return error;
	error = folder_check(host);
	if (!error)
		error = pins_open_config(host);
	if (!error && options->rehearse)
		error = find_carriers(host, &change);
	return error ? error : apply(host, &change, NULL);
}
