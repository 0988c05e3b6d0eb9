/* SPDX-License-Identifier: GPL-2.0-only */
/* Many commands of ip(8) in one process of it. */
#ifndef BULKHEAD_SELFTESTS_IP_BATCH_H
#define BULKHEAD_SELFTESTS_IP_BATCH_H

#include <stdio.h>

/* NULL: errno says why. */
FILE *ip_batch_begin(void);

/* One command, without the word `ip` before it. */
void ip_batch_add(FILE *batch, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Waits until all commands are carried out. 0, or -ENODEV: ip has refused one, and said why. */
int ip_batch_end(FILE *batch);

#endif
