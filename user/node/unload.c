// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "node/attach.h"
#include "node/pins.h"
#include "node/rtnl.h"

/* Every interface is asked, not only those that the maps name: the maps may be what is damaged. */
static int detach_all(struct host *host)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(host->rtnl, &links, &n);

	if (error)
		return node_fail(host, error, "cannot list the interfaces");
	for (size_t i = 0; !error && i < n; i++)
		error = attach_remove(host, links[i].ifindex);
	return error;
}

int node_clear(struct host *host)
{
	int error;

	if (host->config)
		__atomic_store_n(&host->config->generation, 0, __ATOMIC_RELEASE);
	error = detach_all(host);
	pins_close(host);
	return error ? error : pins_remove_all(host);
}

int node_unload(const struct node_options *options, struct diag *diag)
{
	SCOPED_HOST struct host *host = NULL;
	int error = node_new(options, diag, &host);

	if (!error)
		error = pins_lock(host, false);
	if (error || host->lock < 0)
		return error;
	error = pins_open_config(host);
	if (error)
		return error;
	host->maps[MAP_ifaces] = pins_get(host, node_map_names[MAP_ifaces]);
	error = node_clear(host);
	return error ? error : pins_remove_folder(host);
}
