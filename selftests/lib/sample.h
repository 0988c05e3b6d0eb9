/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy made by hand, for tests of what reads one. It has every kind
 * of record once or more; the comments in sample.c say what it means.
 */
#ifndef BULKHEAD_SELFTESTS_SAMPLE_H
#define BULKHEAD_SELFTESTS_SAMPLE_H

#include "compile/policy.h"

/* The same one each time, in static memory: not to be changed or freed. */
struct policy *sample_policy(void);

struct address sample_address(const char *text);

#endif
