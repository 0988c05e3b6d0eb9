// SPDX-License-Identifier: GPL-2.0-only
/* How full the table of connections is, and who holds connections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/share.h"
#include "node/kernel/connections.h"
#include "node/kernel/settings.h"
#include "node/observe/status_parts.h"

/* Sweeps after which the connections that the first load took over are counted. The first may have
 * begun before. */
#define SWEEPS_ADOPTED 2

static void name_share(const struct node_status *status, uint32_t key, char name[16])
{
	snprintf(name, 16, "%s", key == BH_SHARE_NODE ? "node" : "");
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (status->ifaces[i].ifindex == key)
			memcpy(name, status->ifaces[i].name, 16);
}

/* Lists who holds connections, the largest first. */
static int list_shares(const struct connections_share *all, size_t n, struct node_status *status)
{
	status->shares = calloc(n + 1, sizeof(*status->shares));
	if (!status->shares)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct node_share *share = &status->shares[status->n_shares];

		*share = (struct node_share){.used = bh_share_used(all[i].share.count),
					     .found = all[i].found,
					     .differs = all[i].differs,
					     .replaced = all[i].share.replaced,
					     .refused = all[i].share.refused};
		status->connections.used += share->found;
		status->connections.replaced += share->replaced;
		status->connections.refused += share->refused;
		if (!share->used && !share->found && !share->replaced && !share->refused)
			continue;
		name_share(status, all[i].key, share->name);
		status->n_shares++;
	}
	return 0;
}

/* Reads how full the table of connections is. A connection counts until the garbage collector frees
 * it. */
int status_read_connections(struct node_handle *handle, struct node_status *status)
{
	CLEANUP(connections_close) struct connections connections = {};
	SCOPED_FREE struct connections_share *shares = NULL;
	struct node_connections *table = &status->connections;
	size_t n = 0;
	int error = connections_open(handle, &connections);

	if (!error)
		error = settings_connections(handle, &table->capacity);
	if (!error)
		error = connections_shares(handle, &connections, &shares, &n);
	if (!error)
		error = list_shares(shares, n, status);
	if (error)
		return node_fail(handle, error, "cannot read %s/ct: load puts a missing pin back",
				 handle->pin);
	table->floor = connections.total->floor;
	table->surplus = connections.total->surplus;
	table->surplus_capacity = connections.total->capacity;
	table->corrected = connections.total->corrected;
	table->refused += connections.total->refused;
	table->replaced += connections.total->replaced;
	table->counted = connections.total->sweeps > SWEEPS_ADOPTED;
	status->maps[status->n_maps++] =
		(struct node_map){.name = "ct", .used = table->used, .max = table->capacity};
	return 0;
}
