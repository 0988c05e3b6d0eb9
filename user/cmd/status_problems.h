/* SPDX-License-Identifier: GPL-2.0-only */
/* What is wrong with the node: the lines of `bulkhead status --check`. */
#ifndef BULKHEAD_CMD_STATUS_PROBLEMS_H
#define BULKHEAD_CMD_STATUS_PROBLEMS_H

#include "cmd/emit.h"
#include "node/node.h"

/* The report, one problem a line. */
struct problems {
	struct emit *emit;
	size_t n;
	size_t like_max; /* the most problems of one kind that have lines */
	size_t like; /* problems of the present kind */
};

/* Folders of the node beside the pin folder; NULL: they say nothing of it. */
struct status_folders {
	const char *state; /* the load that is kept for the next boot */
	const char *attached; /* the CNI plugin's */
};

void __attribute__((format(printf, 2, 3)))
problem_add(struct problems *problems, const char *format, ...);
/* Adds the problems that the status shows, and those of the folders. */
void problems_find(const struct node_status *status, const struct status_folders *folders,
		   struct problems *problems);

static inline const char *status_iface_name(const struct node_iface *iface)
{
	return iface->name[0] ? iface->name : "(gone)";
}

static inline const char *status_endpoint_ns(const struct policy *policy, uint32_t i)
{
	return policy_string(policy, policy->namespaces[policy->endpoints[i].ns].name);
}

#endif
