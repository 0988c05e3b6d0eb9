/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of policy objects, to find those that one policy has and another lacks. */
#ifndef BULKHEAD_NODE_NAMES_H
#define BULKHEAD_NODE_NAMES_H

#include "compile/lazy_policy.h"

struct names {
	char **at; /* each behind the number of its kind: two kinds may have an object of one name
		    */
	size_t n, room;
};

/* Adds the object at @index of policy->given. Returns 0, -ENOMEM, or the policy's error. */
int names_add(struct names *names, const struct lazy_policy *policy, uint32_t index);
void names_sort(struct names *names);
void names_free(struct names *names);

/* Lists the sorted names that the sorted @others lacks, without their kinds, to be freed. Returns 0
 * or -ENOMEM. */
int names_without(const struct names *names, const struct names *others, char ***list, size_t *n);

#endif
