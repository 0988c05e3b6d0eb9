/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The segment compiler: objects in, policy out. It is pure: the same objects in any order give
 * the same bytes.
 */
#ifndef BULKHEAD_COMPILE_COMPILE_H
#define BULKHEAD_COMPILE_COMPILE_H

#include "policy/asides.h"
#include "policy/policy.h"

/*
 * Compiles the cluster. @base is the policy to continue; NULL: none. Rules and segments that did
 * not change keep their IDs, the generation is the base's plus one, and an unchanged cluster gives
 * the base itself. Returns 0 and a policy to free; or -EINVAL, -E2BIG (a limit), -ENOMEM or
 * -ENOSYS, reported.
 */
int compile_cluster(const struct cluster *cluster, const struct policy *base, struct diag *diag,
		    struct policy **policy);

/*
 * As compile_cluster(), by a process that compiles again and again. @before: what its last compile
 * set aside (policy/asides.h); NULL: nothing. A namespace whose policies are the same keeps what
 * was set aside for some compiles.
 */
int compile_again(const struct cluster *cluster, const struct policy *base,
		  const struct asides *before, struct diag *diag, struct policy **policy);

#endif
