/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The active endpoints: the policy's, without those that `endpoint del` removed, and with those
 * that `endpoint add` brought (maps/added.h).
 */
#ifndef BULKHEAD_NODE_ACTIVE_ENDPOINTS_H
#define BULKHEAD_NODE_ACTIVE_ENDPOINTS_H

#include "compile/update.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* Changes handle->policy, read in full, to have the active endpoints, for commands that only look.
 * Returns 0 or -errno, reported. */
int active_look(struct node_handle *handle);

/* As active_look(), but with the added endpoints in the segments that the policy has for them, not
 * in those of the maps. Leaves out those whose interfaces are gone. Puts the addresses of added
 * endpoints into @kept. *differs: endpoints were added or deleted. */
int active_expect(struct node_handle *handle, struct table *kept, bool *differs);

/*
 * Adds to @policy, which is about to be loaded, the added endpoints that @policy does not know and
 * whose interfaces exist, each in its segment of @policy. Puts their addresses into @kept. @node:
 * this node's name. overlay_free() takes them out again. If an endpoint needs a segment that
 * @policy lacks, *@policy becomes the extended policy, whose memory *@extended holds, and *@delta
 * says what the extension adds (extension.h); @extended NULL: such an endpoint is isolated. Returns
 * 0 or -errno, reported.
 */
struct delta;
int active_keep(struct node_handle *handle, struct policy *policy, const char *node,
		struct table *kept, struct policy **extended, struct delta **delta);

/* Finds the namespace and name of the endpoint that has an address of bh_endpoints. Returns false
 * if no endpoint is known to have the address. */
struct bh_added;
bool active_owner(const struct node_handle *handle, const struct address *address,
		  struct bh_added *owner);

/* As active_owner(), if the address is active at that interface. */
struct bh_addr;
bool active_owner_at(const struct node_handle *handle, uint32_t ifindex, const struct bh_addr *addr,
		     struct bh_added *owner);

#endif
