/* SPDX-License-Identifier: GPL-2.0-only */
/* The results of a test that does not run by cmocka. */
#ifndef BULKHEAD_SELFTESTS_KTAP_H
#define BULKHEAD_SELFTESTS_KTAP_H

#include <stdbool.h>

/* Prints a result. Returns 0 if it is good, else 1: what the test exits with. */
int ktap_row(int number, bool good, const char *what);

#endif
