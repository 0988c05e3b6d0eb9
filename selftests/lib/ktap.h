/* SPDX-License-Identifier: GPL-2.0-only */
/* Results of a test that does not use cmocka. */
#ifndef BULKHEAD_SELFTESTS_KTAP_H
#define BULKHEAD_SELFTESTS_KTAP_H

#include <stdbool.h>

/* Prints a result. Returns 0 if @good, else 1: the test's exit status. */
int ktap_row(int number, bool good, const char *what);

#endif
