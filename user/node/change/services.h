/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_services (maps/service.h). A key that comes, changes or goes gets an
 * entry that counts from the next generation on, so nothing changes before the flip.
 */
#ifndef BULKHEAD_NODE_SERVICES_H
#define BULKHEAD_NODE_SERVICES_H

#include "compile/frontend.h"
#include "maps/assign.h"
#include "maps/service.h"
#include "node/change/layout.h"
#include "node/change/local.h"

/* Makes @change bring the map to the Services of @layout's policy, from the next generation on,
 * with the room for it. Returns 0 or -errno, reported. */
int services_make(struct node_handle *handle, const struct image *have, const struct layout *layout,
		  const struct local *local, struct change *change);

/* To be called for an endpoint that is added or gets other labels, with its assignment word @place.
 * Services of the endpoint's namespace may lead to it from now on. Where the endpoint's place
 * differs from that of a Service's backends, @change makes the Service's entry say that its
 * backends differ: calls are then judged at the backend alone. Returns 0 or -ENOMEM. */
int services_may_have(const struct node_handle *handle, const char *ns, bool ipv4, uint64_t place,
		      struct change *change);

/* For the planner in services_delta.c. services_key() returns the key of a frontend; a node port
 * has one for IPv4 and one for IPv6. services_point() returns a backend's protocol and port as the
 * map has them. services_add_word() adds a backend's assignment word to an entry,
 * services_add_own() a backend that is an address of this node. services_replace() gives a key the
 * entry @at from the next generation on, services_remove() removes the key's entry; both return 0
 * or -errno, not reported. */
struct bh_service_key services_key(const struct policy_frontend *frontend, bool ipv4);
void services_add_word(struct bh_service_at *at, uint32_t word, uint32_t point, bool *first);
void services_add_own(struct bh_service_at *at, const struct policy_backend *backend,
		      uint32_t point);
/* Completes an entry once all backends were added. */
void services_conclude(struct bh_service_at *at);
int services_replace(struct node_handle *handle, const struct bh_service_key *key,
		     const struct bh_service_at *at, struct change *change);
int services_remove(struct node_handle *handle, const struct bh_service_key *key,
		    struct change *change);

/* Makes @change clear the values that a killed command stored for a generation that never came,
 * and delete the entries that are not in force. @have: the map. Returns 0 or -ENOMEM. */
int services_repair(struct node_handle *handle, const struct table *have, struct change *change);

#endif
