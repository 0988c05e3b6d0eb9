/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node in the test's own network namespace, for tests that send sequences of packets: the maps of
 * its programs, what the programs remember, and the CPU that runs the next packet. Functions return
 * 0 or -errno.
 */
#ifndef BULKHEAD_SELFTESTS_OWN_NODE_H
#define BULKHEAD_SELFTESTS_OWN_NODE_H

#include <sched.h>

#include "maps/conntrack.h"
#include "maps/counter.h"
#include "node/node.h"

#define OWN_CONNECTIONS 1024 /* of the setting `connections` */
#define OWN_CONNECTIONS_SETTING "connections=1024"
#define OWN_GROUPS BH_CT_GROUPS(OWN_CONNECTIONS)
#define OWN_BUCKETS (OWN_GROUPS * BH_CT_GROUP)

enum own_table { OWN_CT, OWN_SHARE_TOTAL, OWN_SHARES, OWN_FLOW_CACHE, OWN_COUNTERS, OWN_TABLES };

struct own_node {
	char pin[64];
	struct node_options options;
	int tables[OWN_TABLES];
	struct bh_ct_group *connections; /* OWN_GROUPS, mapped; NULL: not mapped yet */
	uint64_t counted[BH_REASONS]; /* at the last local_node_reason() */
	cpu_set_t cpus; /* that the process may use */
	int cpu; /* that runs packets now */
};

/* @settings: of `load`, @n of them. Both, and @uplink, outlive the node. */
int local_node_begin(struct own_node *node, const char *pin, const char *const *uplink,
		     const char *const *settings, size_t n);

/* After a load: opens the maps, or opens those of the new programs. */
int local_node_open(struct own_node *node);

/* Opens a pinned map or program. Returns its descriptor, or -errno after a message. */
int local_node_pin(const struct own_node *node, const char *name);

/* Closes @n descriptors, and makes them -1. */
void local_node_close_fds(int *fds, int n);

/* Maps the memory of an array. Returns NULL on failure. */
void *local_node_map(int fd, size_t size);

/* Voids the flow caches, which would serve the next packet without its entry. */
int local_node_void_flow_caches(const struct own_node *node);

/* Makes the programs forget all connections. */
int local_node_forget(const struct own_node *node);

/* Goes on at the next CPU. Its flow cache may be a jiffy behind (maps/flow_cache.h). */
int local_node_next_cpu(struct own_node *node);

/* Returns the reason for which the programs have counted a packet since the last call. */
const char *local_node_reason(struct own_node *node);

void local_node_close(struct own_node *node);

#endif
