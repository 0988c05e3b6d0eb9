/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the tables of a policy hold together: what blob_read() asks of bytes from outside. */
#ifndef BULKHEAD_COMPILE_CHECK_H
#define BULKHEAD_COMPILE_CHECK_H

#include "compile/policy.h"

/*
 * Every reference lies in its table and every string in `strings`; tables are in their order and
 * IDs unique and below the next ones; enums, ports, CIDRs and limits of maps/ are in range; port
 * lists begin at 0 and ascend; ::/0 is there. Returns 0; -EINVAL with the first table and record
 * at fault in @diag; or -ENOMEM.
 */
int policy_check(const struct policy *policy, const struct where *where, struct diag *diag);

#endif
