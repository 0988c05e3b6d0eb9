/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by advice.c, which takes flows, advice_policies.c, which writes policies that allow these,
 * and advice_check.c, which checks the policies. */
#ifndef BULKHEAD_CMD_ADVICE_PART_H
#define BULKHEAD_CMD_ADVICE_PART_H

#include "cmd/advice.h"

#define ADVICE_NO_GROUP UINT32_MAX

struct advice_group {
	/* a pod of the group; NULL: the group is an address outside, or a domain name */
	const struct endpoint *endpoint;
	struct address address;
	const char *name; /* interned by the cluster; NULL: the group is no domain name */
};

/* A flow that the policies are to allow: @subject's rule in this direction lets @peer use the
 * port. */
struct advice_want {
	uint32_t subject, peer; /* indexes of groups */
	uint32_t direction;
	uint32_t point;
};

struct advice {
	const struct cluster *cluster;
	const struct policy *policy;
	struct advice_group *groups;
	size_t n_groups;
	/* group of each endpoint, by index of cluster->endpoints; ADVICE_NO_GROUP: not looked up
	 * yet */
	uint32_t *group_of;
	struct advice_want *wants; /* advice_policies() sorts them by compare_wants() */
	size_t n_wants;
	struct flow *flows; /* every flow that advice_add() took */
	size_t n_flows;
};

/* Returns the next label from *i on that tells workloads apart; NULL: there are no more. */
const struct label *advice_next_label(const struct endpoint *endpoint, size_t *i);
bool advice_same_workload(const struct endpoint *a, const struct endpoint *b);
/* Finds the group of the address, or makes it: that of the endpoint with the address; without one,
 * that of the domain @name by which the address was learned; without a name (NULL), that of the
 * address. Returns its index; ADVICE_NO_GROUP: memory is short. */
uint32_t advice_group_of(struct advice *advice, const struct address *address, const char *name);

#endif
