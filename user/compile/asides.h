/* SPDX-License-Identifier: GPL-2.0-only */
/* What a compile set aside, since it was over a budget (budget.h). */
#ifndef BULKHEAD_COMPILE_ASIDES_H
#define BULKHEAD_COMPILE_ASIDES_H

#include <stdint.h>

#include "model/diag.h"

/* A policy that isolates what it selects, without its rules; or a Service without backends. */
struct aside {
	uint32_t policy; /* index in the policies of the cluster that was compiled; UINT32_MAX: a
			  * Service */
	char *ns, *name; /* ns "": an administrator's policy */
	char *why; /* "its 300000 port intervals are over the limit of 262144 ..." */
	const char *effect; /* "isolates what it selects" */
	const char *kind; /* "NetworkPolicy" */
	struct where where; /* valid as long as the cluster that was compiled */
};

/* In the order of the cluster's policies, then of its Services. */
struct asides {
	struct aside *at;
	size_t n;
};

void asides_free(struct asides *asides); /* NULL is fine */

#endif
