/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans to add one endpoint. */
#ifndef BULKHEAD_NODE_ENDPOINT_ADD_H
#define BULKHEAD_NODE_ENDPOINT_ADD_H

#include "model/cluster.h"
#include "node/local/local_entries.h"
#include "node/plan/change.h"

struct bh_endpoint;

/*
 * Makes @change put the endpoint into its segment, and guard it as @local says. If the endpoint is
 * the first one of its bridge, also guards the other ports, and lets packets of endpoints come in
 * by the bridge, before the commit. Takes nothing from another endpoint. Call extension_set()
 * (extension.h) first: it makes a segment for labels that none has. Sets *isolated if the endpoint
 * fits no segment even then. Returns 0 or -errno, reported.
 */
int endpoint_add_plan(struct node_handle *handle, const struct endpoint *endpoint,
		      const struct local *local, struct change *change, bool *isolated);

/* An endpoint whose addresses get places by its labels. */
struct endpoint_placing {
	struct node_handle *handle;
	struct change *change;
	const struct endpoint *endpoint;
	/* until the commit, an address that comes is isolated: it is not its covering prefix */
	bool closed;
	bool *isolated; /* set if the endpoint fits no active segment */
};

/* Puts one address of the endpoint, with its record, into its segment from the next generation on.
 * @old: the address's entry of bh_endpoints; NULL: none. @host_side: its interface (0: on another
 * node) and MAC then. Returns 0 or -errno. */
int endpoint_add_address(const struct endpoint_placing *placing, const struct address *address,
			 const struct bh_endpoint *old, const struct bh_endpoint *host_side);

#endif
