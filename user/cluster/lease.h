/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides which of several engines leads, by a Lease (coordination.k8s.io/v1) that its holder
 * renews. Each engine measures by its own clock since it saw the last renewal, so clocks need not
 * agree. An engine that ends gives the lease up. Two engines may believe for a moment that they
 * lead. That does no harm: the server compares resourceVersions and refuses the second write.
 */
#ifndef BULKHEAD_CLUSTER_LEASE_H
#define BULKHEAD_CLUSTER_LEASE_H

#include "api/api.h"

#define LEASE_NAME "bulkhead-engine"
#define LEASE_SECONDS 15 /* another engine may take a lease that was not renewed for so long */

struct lease;

/* Calls changed() when this engine takes or loses the lease. The strings must outlive the lease.
 * NULL: no memory. */
struct lease *lease_open(struct api *api, const char *ns, const char *name, const char *identity,
			 void (*changed)(void *data), void *data);
void lease_close(struct lease *lease); /* NULL is fine */
/* This engine may lead from now on: it takes the lease if it can. */
void lease_want(struct lease *lease);
bool lease_held(const struct lease *lease);
/* Gives the lease up, so that another engine takes it at once. From now on this engine does not
 * hold the lease, and changed() is not called. Calls done() once the server has answered, or at
 * once if there is nothing to give up. */
void lease_release(struct lease *lease, void (*done)(void *data), void *data);

#endif
