/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_services (maps/service.h). A key that comes, changes or goes says so
 * for the next generation, and changes nothing before the flip.
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

/* To be called for an endpoint that is added or gets other labels, with its assignment word
 * @place. Services of its namespace may lead to it from now on, so @change makes their entries
 * say that their backends differ, where this one differs: calls are then judged by the backend
 * alone. Returns 0 or -ENOMEM. */
int services_may_have(const struct node_handle *handle, const char *ns, bool ipv4, uint64_t place,
		      struct change *change);

/* For the description of Services in services_delta.h: the key of a frontend, of a node port the
 * one for IPv4 or IPv6; how a backend's assignment word, or an address of this node, joins those of
 * others; and the entry that a key gets, or that it gets none, from the next generation on.
 * services_replace() and services_remove() return 0 or -errno, not reported. */
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
