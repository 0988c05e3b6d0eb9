/* SPDX-License-Identifier: GPL-2.0-only */
/* What the plugin has done, counted in a file of its folder. */
#ifndef BULKHEAD_CNI_COUNTS_H
#define BULKHEAD_CNI_COUNTS_H

#include "cni/call.h"

/* A call that cannot be counted is not. */
void counts_add(const struct cni_call *call, uint64_t microseconds);

#endif
