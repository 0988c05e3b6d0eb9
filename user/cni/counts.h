/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts the plugin's calls in a file of its folder. */
#ifndef BULKHEAD_CNI_COUNTS_H
#define BULKHEAD_CNI_COUNTS_H

#include "cni/invocation.h"

/* Counts a call. A failure to count is ignored. */
void counts_add(const struct cni_call *call, uint64_t microseconds);

#endif
