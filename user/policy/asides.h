/* SPDX-License-Identifier: GPL-2.0-only */
/* The objects that a compile set aside, since they were over a budget (compile/budget.h). */
#ifndef BULKHEAD_POLICY_ASIDES_H
#define BULKHEAD_POLICY_ASIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* A policy that isolates what it selects, without its rules; a Namespace whose pods have no named
 * ports, or whose NetworkPolicies match no pods of some other namespaces; or a Service without
 * backends. */
struct aside {
	/* a policy that stays aside in the next compile, unless its namespace's policies have
	 * changed */
	bool stays;
	char *ns, *name; /* ns "": an administrator's policy */
	char *why; /* "its 300000 port intervals are over the limit of 262144 ..." */
	const char *effect; /* "isolates what it selects" */
	const char *kind; /* "NetworkPolicy" */
	bool nameless; /* the port names of its namespace's pods have no numbers */
	char **left_out; /* of a Namespace: pods of these do not count for its NetworkPolicies */
	size_t n_left_out;
	uint64_t key[2]; /* of all policies of its namespace */
	struct where where; /* valid as long as the cluster that was compiled */
};

/* Sorted by kind, namespace, name. */
struct asides {
	struct aside *at;
	size_t n;
	unsigned int again; /* compiles since the namespaces were evaluated anew */
};

void asides_sort(struct asides *asides); /* NULL is fine */

/* Returns what was set aside of an object; NULL: nothing, or @asides is NULL. @ns: "" if it has
 * none. */
struct aside *asides_find(const struct asides *asides, const char *kind, const char *ns,
			  const char *name);

/* Returns the namespace that an object belongs to, or is; "": none. */
const char *asides_namespace(const struct aside *aside);

/* Returns true if the port names of some namespace's pods have no numbers. NULL is fine. */
bool asides_any_nameless(const struct asides *asides);

void asides_free(struct asides *asides); /* NULL is fine */

#endif
