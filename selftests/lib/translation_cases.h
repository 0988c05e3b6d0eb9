/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences for lib/translation.h that have failed once, or fail where a rule of kern/README.md is
 * left out, in their shortest form. */
#ifndef BULKHEAD_SELFTESTS_TRANSLATION_CASES_H
#define BULKHEAD_SELFTESTS_TRANSLATION_CASES_H

#include "selftests/lib/translation.h"

struct translation_case {
	const char *name; /* NULL: the end of the list */
	struct sequence sequence;
};

extern const struct translation_case translation_cases[];

#endif
