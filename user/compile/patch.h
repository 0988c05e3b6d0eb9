/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Continues a policy if nothing but pods has changed and all of them fit into segments that the
 * policy has. Verdicts are those of a compile, at a small part of its price. Strings and segments
 * that no endpoint uses any more stay until the next compile.
 */
#ifndef BULKHEAD_COMPILE_PATCH_H
#define BULKHEAD_COMPILE_PATCH_H

#include "compile/policy.h"

/* A pod that has changed. */
struct patch_pod {
	const char *ns, *name;
	const struct endpoint *now; /* NULL: it is gone. Without an address: it is expected */
};

/*
 * @pods: each name once. @base must be whole in memory. No Service may take its backends from pods:
 * all have EndpointSlices. Returns 0 and a policy to free, of @base's generation if nothing has
 * changed; -EOPNOTSUPP: only a compile can tell; or -ENOMEM. Reports nothing.
 */
int policy_patch(const struct policy *base, const struct patch_pod *pods, size_t n,
		 struct policy **policy);

#endif
