// SPDX-License-Identifier: GPL-2.0-only
/* The interfaces of a node, and the programs at their hooks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "node/kernel/attach.h"
#include "node/kernel/rtnl.h"
#include "node/local/iface_entry.h"
#include "node/observe/newcomers.h"
#include "node/observe/status_parts.h"

/* Adds the interfaces that have come up since the last load. */
static void add_newcomers(const struct table *ifaces, const struct link *links, size_t n,
			  struct node_status *status)
{
	for (size_t i = 0; i < n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];

		if (!newcomers_has(ifaces, &links[i]))
			continue;
		iface->ifindex = links[i].ifindex;
		iface->flags = BH_IFACE_OTHER;
		iface->late = true;
		snprintf(iface->name, sizeof(iface->name), "%s", links[i].name);
		status->n_ifaces++;
	}
}

int status_read_ifaces(struct node_handle *handle, const struct table *ifaces,
		       struct node_status *status)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n_links = 0;
	int error = rtnl_links(handle->rtnl, &links, &n_links);

	if (error)
		return node_fail(handle, error, "cannot list the interfaces");
	status->ifaces = calloc(ifaces->n + n_links + 1, sizeof(*status->ifaces));
	if (!status->ifaces)
		return -ENOMEM;
	for (size_t i = 0; i < ifaces->n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];
		const struct bh_iface *entry = table_value(ifaces, i);
		struct attached attached;

		iface->ifindex = *(uint32_t *)table_key(ifaces, i);
		iface->flags = entry->flags;
		if (!if_indextoname(iface->ifindex, iface->name))
			iface->name[0] = '\0';
		/* a deleted pod's interface, which no longer exists */
		if (!*iface->name && iface_entry_is_quarantined(entry))
			continue;
		error = attach_read(handle, iface->ifindex, iface->flags, &attached);
		if (error)
			return error;
		iface->ingress = attached.ingress;
		iface->egress = attached.egress;
		iface->xdp = attached.xdp;
		iface->dispatched = attached.dispatched;
		iface->orphan = attached.orphan;
		iface->quarantined = iface_entry_is_quarantined(entry);
		iface->overtaken = attached.overtaken;
		iface->guarded = iface->name[0] && attach_is_complete(&attached, iface->flags);
		if (attached.before)
			attach_program_name(attached.before, iface->before);
		status->n_ifaces++;
	}
	add_newcomers(ifaces, links, n_links, status);
	return 0;
}

/* If nothing is loaded: looks for programs whose pins are gone at every interface. */
int status_read_orphans(struct node_handle *handle, struct node_status *status)
{
	SCOPED_FREE struct link *links = NULL;
	size_t n = 0;
	int error = rtnl_links(handle->rtnl, &links, &n);

	status->ifaces = calloc(n + 1, sizeof(*status->ifaces));
	if (error || !status->ifaces)
		return error ? error : -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct node_iface *iface = &status->ifaces[status->n_ifaces];
		struct attached attached;

		error = attach_read(handle, links[i].ifindex, 0, &attached);
		if (error)
			return error;
		if (!attached.orphan)
			continue;
		*iface = (struct node_iface){.ifindex = links[i].ifindex, .orphan = true};
		memcpy(iface->name, links[i].name, sizeof(iface->name));
		status->n_ifaces++;
	}
	return 0;
}
