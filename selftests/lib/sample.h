/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy made by hand, for tests of its readers. It has at least one record of every
 * kind; the comments in sample.c say what the records mean.
 */
#ifndef BULKHEAD_SELFTESTS_SAMPLE_H
#define BULKHEAD_SELFTESTS_SAMPLE_H

#include "policy/policy.h"

/* Always the same policy in static memory: do not change or free it. */
struct policy *sample_policy(void);

struct address sample_address(const char *text);

#endif
