/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The endpoints in force: those of the policy, without those that `endpoint del`
 * took off, and with those that `endpoint add` brought (maps/added.h).
 */
#ifndef BULKHEAD_NODE_INFORCE_H
#define BULKHEAD_NODE_INFORCE_H

#include "compile/enroll.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* Makes host->policy, read in full, say who is in force and where, for whoever only looks. Returns
 * 0 or -errno, reported. */
int inforce_look(struct node_handle *host);

/*
 * Adds to @policy, which is about to be loaded, the endpoints that were added to the one in force,
 * that it does not know, and whose interfaces are there; each in its segment of @policy. Their
 * addresses go into @kept. @node: the name of this one. To be undone by enroll_free(). Returns 0 or
 * -errno, reported.
 */
int inforce_keep(struct node_handle *host, struct policy *policy, const char *node,
		 struct table *kept);

/* Whose an address that is in bh_endpoints is: the names of @owner. False: nobody's that is known.
 */
struct bh_added;
bool inforce_owner(const struct node_handle *host, const struct address *address,
		   struct bh_added *owner);

/* @endpoint with all its addresses, for enroll(). */
struct endpoint;
struct enrolled inforce_enrolled(const struct endpoint *endpoint,
				 const struct enrolled_address *addresses, size_t n);

#endif
