/* SPDX-License-Identifier: GPL-2.0-only */
/* What a compile set aside, since it was over a budget (budget.h). */
#ifndef BULKHEAD_COMPILE_ASIDES_H
#define BULKHEAD_COMPILE_ASIDES_H

#include <stdint.h>

#include "model/diag.h"

/* A NetworkPolicy that isolates what it selects, without its rules. */
struct aside {
	uint32_t policy; /* index in the policies of the cluster that was compiled */
	char *ns, *name; /* ns "": an administrator's policy */
	char *why; /* "its 300000 port intervals are over the limit of 262144 ..." */
	const char *kind; /* "NetworkPolicy" */
	struct where where; /* valid as long as the cluster that was compiled */
};

/* In the order of the cluster's policies. */
struct asides {
	struct aside *at;
	size_t n;
};

void asides_free(struct asides *asides); /* NULL is fine */

#endif
