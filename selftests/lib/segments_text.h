/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what a policy's segments are and may do, to compare two policies of a lineage. */
#ifndef BULKHEAD_SELFTESTS_SEGMENTS_TEXT_H
#define BULKHEAD_SELFTESTS_SEGMENTS_TEXT_H

#include "policy/policy.h"

/* Returns memory to free. No line says anything about an endpoint. */
char *segments_text(const struct policy *policy);

#endif
