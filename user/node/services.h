/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bh_services has of the policy's Services (maps/service.h): a key that comes,
 * changes or goes says so of the generation to come, and changes nothing before.
 */
#ifndef BULKHEAD_NODE_SERVICES_H
#define BULKHEAD_NODE_SERVICES_H

#include "node/image.h"
#include "node/local.h"

struct services {
	uint32_t generation; /* the one in force plus one */
	struct table come; /* keys to be added */
	struct table stores; /* into keys that are there: struct bh_assign */
	struct table gone; /* keys to be deleted after the flip */
};

void services_free(struct services *services);

/* What makes the map say what @layout's policy does, from the next generation on. Wants the room
 * that it needs (replace.h). Returns 0 or -errno, reported. */
int services_make(struct host *host, const struct image *have, const struct layout *layout,
		  const struct local *local, struct services *services);

/* Whether anything is to be staged. */
bool services_is_empty(const struct services *services);

/* The steps, in this order. Each returns 0 or -errno, reported. */
int services_stage(struct host *host, const struct services *services);
int services_collect(struct host *host, const struct services *services);

/* Clears what a killed command had stored for a generation that never came, and deletes what is not
 * in force; @have: the map. Returns 0 or -errno, reported. */
int services_repair(struct host *host, const struct table *have);

#endif
