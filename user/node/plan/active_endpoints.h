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
#include "node/local/local_entries.h"

struct delta;
struct bh_added;
struct bh_addr;

/* Opens a node to read it, without the lock: as node_new() and node_find(), with the policy in full
 * and the active endpoints. Returns 0 or -errno, reported. */
int node_look(const struct node_options *options, struct diag *diag, struct node_handle **handle);

/* Fills in an added endpoint, in memory of @cluster's, by what @policy expects of a pod of its name
 * (policy/expected.h) and by the interface that it has on this node, @node. *ifindex 0: it is on
 * another node. Returns false if its interface is gone. */
bool active_added(const struct node_handle *handle, const struct lazy_policy *policy,
		  const char *node, struct cluster *cluster, struct endpoint *endpoint,
		  uint32_t *ifindex);

/*
 * Lists the added endpoints that stay beside @policy, which is about to be loaded: @policy does not
 * know them, and their interfaces exist. @staying gets the endpoints, and @local->kept their
 * addresses. If an endpoint needs a segment that @policy lacks, *@policy becomes the extended
 * policy, whose memory *@extended holds, and *@delta says what the extension adds (extension.h);
 * @extended NULL: such an endpoint is isolated. Returns 0 or -errno, reported.
 */
int active_keep(struct node_handle *handle, struct policy *policy, struct local *local,
		struct cluster *staying, struct policy **extended, struct delta **delta);

/* As active_keep() for the active policy, which is read in full, and which loses the addresses that
 * are not active. Also lists added endpoints that the policy knows. *differs: endpoints were added
 * or deleted. */
int active_expect(struct node_handle *handle, struct local *local, struct cluster *staying,
		  bool *differs);

/* Finds the namespace and name of the endpoint that has an address of bh_endpoints. Returns false
 * if no endpoint is known to have the address. */
bool active_owner(const struct node_handle *handle, const struct address *address,
		  struct bh_added *owner);

/* As active_owner(), if the address is active at that interface. */
bool active_owner_at(const struct node_handle *handle, uint32_t ifindex, const struct bh_addr *addr,
		     struct bh_added *owner);

#endif
