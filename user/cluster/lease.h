/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of several engines leads: a Lease (coordination.k8s.io/v1) that its holder renews. Time is
 * each one's own clock, from when it saw the last renewal, so clocks need not agree. Two may
 * believe for a moment that they lead; what they write is compared by resourceVersion, so that does
 * no harm.
 */
#ifndef BULKHEAD_CLUSTER_LEASE_H
#define BULKHEAD_CLUSTER_LEASE_H

#include "api/api.h"

#define LEASE_SECONDS 15 /* without a renewal, until another may take it */

struct lease;

/* changed(): it is held now, or no longer. The strings must outlive the lease. NULL: no memory. */
struct lease *lease_open(struct api *api, const char *ns, const char *name, const char *identity,
			 void (*changed)(void *data), void *data);
void lease_close(struct lease *lease); /* NULL is fine */
bool lease_held(const struct lease *lease);

#endif
