/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks that the tables of a policy are consistent, for bytes from outside. */
#ifndef BULKHEAD_POLICY_CHECK_H
#define BULKHEAD_POLICY_CHECK_H

#include "policy/policy.h"

/*
 * Checks that every reference is within its table and every string in `strings`; that tables are
 * sorted, IDs unique and below the next IDs; that enums, ports, CIDRs and limits of maps/ are in
 * range; that port lists begin at 0 and ascend; that ::/0 exists. Returns 0; -EINVAL with the
 * first bad table and record in @diag; or -ENOMEM.
 */
int policy_check(const struct policy *policy, const struct where *where, struct diag *diag);

#endif
