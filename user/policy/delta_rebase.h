/* SPDX-License-Identifier: GPL-2.0-only */
/* Carries a node's extension of a policy (compile/extend.h) over to the policy's successor. */
#ifndef BULKHEAD_POLICY_DELTA_REBASE_H
#define BULKHEAD_POLICY_DELTA_REBASE_H

#include "policy/delta.h"

/*
 * Makes of @local, a delta from a policy to the extended policy, the delta from the policy's
 * successor to the successor extended the same way. @change leads from the policy to the successor.
 * It must leave rules, named ports and segments as they are. Costs as much as the two deltas are
 * long. Returns 0 and a delta to free; -EOPNOTSUPP if the successor has to be extended anew; or
 * -ENOMEM.
 */
int delta_rebase(const struct delta *local, const struct delta *change, struct delta **rebased);

#endif
