/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs many ip(8) commands in one process. */
#ifndef BULKHEAD_SELFTESTS_IP_BATCH_H
#define BULKHEAD_SELFTESTS_IP_BATCH_H

#include <stdio.h>

/* Returns NULL and sets errno on failure. */
FILE *ip_batch_begin(void);

/* Adds one command, without the word `ip`. */
void ip_batch_add(FILE *batch, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Waits for all commands. Returns 0, or -ENODEV if ip has refused one and printed why. */
int ip_batch_end(FILE *batch);

#endif
