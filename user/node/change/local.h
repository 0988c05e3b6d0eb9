/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy finds on this node: its name, its addresses, its uplinks, the
 * interface of each endpoint that is here, and the other ports of their bridges.
 */
#ifndef BULKHEAD_NODE_LOCAL_H
#define BULKHEAD_NODE_LOCAL_H

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct local {
	char name[sizeof(((struct bh_blob *)NULL)->node)];
	struct address *addresses; /* the node's own, sorted; one may stand twice */
	size_t n_addresses;
	uint32_t *ifindexes; /* by the policy's endpoints; 0: not here, or not found here */
	/* Wanted in the maps of these names, sorted by key. */
	struct table ifaces, macs, allow_source, link_locals, tunnels;
	uint32_t endpoints, uplinks, ports; /* how many of each `ifaces` has */
	struct link *links; /* all interfaces that there are */
	size_t n_links;
	struct table kept; /* addresses of endpoints that were added and stay (inforce.h), sorted */
};

/*
 * The name of this node: by option, else the one that the pin folder has, else the policy's, else
 * the host's. Another than the pin folder has, by option or policy, is refused unless the options
 * say so: all that is guarded would be taken for another node's. Returns 0, -EINVAL or another
 * -errno, reported.
 */
int local_choose_name(struct node_handle *host, const struct policy *policy, struct local *local);

/*
 * Reads what else there is, once the name is chosen; @policy has the endpoints that are kept.
 * Returns 0 or -errno, reported. An interface that an input or an option names has to be there
 * (-ENODEV). An endpoint of this node with no name for its interface and no route to its address,
 * or only a default route, is warned about and left out: it has no network yet, or no more. Where
 * the options say that the node has just started, so are interfaces that are not there.
 */
int local_read(struct node_handle *host, const struct policy *policy, struct local *local);

/*
 * The same for a policy of one endpoint that is on this node, where the interfaces of @in_force
 * (bh_ifaces) are taken. Asks for its own interface only, and leaves uplinks and other ports out.
 */
int local_read_one(struct node_handle *host, const struct policy *policy,
		   const struct table *in_force, struct local *local);
void local_free(struct local *local);

/* Warns of ports of the endpoints' bridges that lead to another interface of this node, and so are
 * not guarded: what they bring may be an endpoint's, or the node's own. */
void local_warn(const struct node_handle *host, const struct local *local);

#endif
