/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses that have left Pods of this node (cni/left.h), for its follower. The follower states
 * such an address for as long as the former Pod's object names it: the engine then gives the
 * address to nobody. The address rests, and with it the next Pod that has the address, until every
 * node that counts has activated a policy from which on none gives the address to the former Pod.
 *
 * Without an engine no node gets such a policy: the next Pod stays isolated until an engine leads.
 */
#ifndef BULKHEAD_CLUSTER_RESTING_H
#define BULKHEAD_CLUSTER_RESTING_H

#include <json-c/linkhash.h>

#include "api/api.h"
#include "node/node.h"

struct resting;

/* Makes the folder in which the CNI plugin notes addresses, and reads it. Calls changed() from the
 * loop when the plugin has noted an address, and when a time has passed: resting_look() is due. The
 * options must outlive it. Returns 0 or -errno, reported. */
struct resting_options {
	const char *records; /* the folder of endpoint records */
	const struct node_options *node;
	struct diag *diag;
	void (*changed)(void *data);
	void *data;
};
int resting_open(struct api *api, const struct resting_options *options, struct resting **resting);
void resting_close(struct resting *resting); /* before api_close(); NULL is fine */

/* What the follower knows. */
struct resting_view {
	struct lh_table *pods; /* this node's Pods, by "NAMESPACE/NAME" */
	uint32_t wanted; /* generation of the newest policy, which nodes may still install */
	uint32_t active; /* generation of the active policy here; 0: none */
	uint32_t oldest; /* the oldest that a node which counts has active; 0: unknown */
};
enum resting_news {
	/* resting_statements() or resting_late() has changed, or the API server has to hear of the
	 * statements again */
	RESTING_STATED = 1,
	RESTING_OVER = 2, /* an address rests no longer: cni_refresh() names its next Pod */
};
/* Looks at the addresses again. Returns RESTING_* bits. */
unsigned int resting_look(struct resting *resting, const struct resting_view *view);

/* Returns status.leftAddresses of NodePolicyStatus (store.h), a new reference. */
struct json_object *resting_statements(const struct resting *resting);

/* Notes that the API server has these statements. */
void resting_told(struct resting *resting, struct json_object *statements);

/* Returns true if the Pod must not be activated: its address has left it, or rests. Knows of what
 * the plugin has noted until now. */
bool resting_keeps_off(struct resting *resting, struct json_object *pod);

/* Returns how many addresses rest for longer than RESTING_LATE_MS, as they do where no engine
 * leads. *address: one of these. */
#define RESTING_LATE_MS 5000
size_t resting_late(const struct resting *resting, struct address *address);

/* Returns how many addresses have left, and how many of these rest. */
size_t resting_count(const struct resting *resting, size_t *resting_now);

#endif
