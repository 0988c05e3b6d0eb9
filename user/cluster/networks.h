/* SPDX-License-Identifier: GPL-2.0-only */
/* A follower keeps the CNI plugin in this node's networks (cni/kept_lists.h). */
#ifndef BULKHEAD_CLUSTER_NETWORKS_H
#define BULKHEAD_CLUSTER_NETWORKS_H

#include "api/api.h"

struct networks;

/* @folder: of the networks' lists; @bin: of the runtimes' plugins. Returns 0 or -errno, reported.
 */
int networks_open(struct api *api, const char *folder, const char *bin, struct diag *diag,
		  struct networks **networks);
void networks_close(struct networks *networks); /* after api_close(); NULL is fine */

/* Returns how often a list got the plugin back. *lacking: so many lists lack it now. */
uint64_t networks_count(const struct networks *networks, unsigned int *lacking);

#endif
