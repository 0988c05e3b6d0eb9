/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of policy objects, to find those that one policy has and another lacks, or only audits. */
#ifndef BULKHEAD_NODE_OBJECT_NAMES_H
#define BULKHEAD_NODE_OBJECT_NAMES_H

#include "policy/lazy_policy.h"
#include "node/node.h"

struct names {
	/* each behind the number of its kind: two kinds may have an object of one name */
	char **at;
	size_t n, capacity;
};

struct object_names {
	struct names all, enforced;
};

/* Adds the object at @index of policy->given. Returns 0, -ENOMEM, or the policy's error. */
int object_names_add(struct object_names *names, const struct lazy_policy *policy, uint32_t index);
void object_names_sort(struct object_names *names);
void object_names_free(struct object_names *names);

/* Lists in @effect, from sorted names, the objects that are added or deleted, and those that are
 * only audited from now on. Returns 0 or -ENOMEM. */
int object_names_compare(const struct object_names *before, const struct object_names *after,
			 struct node_effect *effect);

#endif
