/* SPDX-License-Identifier: GPL-2.0-only */
/* How many instructions the kernel's verifier went through for each program, beside
 * selftests/verified.tsv. */
#ifndef BULKHEAD_SELFTESTS_VERIFIED_H
#define BULKHEAD_SELFTESTS_VERIFIED_H

/*
 * Compares each program of the open node (packet_node.h) with the file's line for this kernel,
 * prints a KTAP line each with a number that follows *@number, and returns how many have grown.
 * Prints a line that is skipped if the file has none for this kernel. With VERIFIED=1 in the
 * environment, prints lines for the file instead.
 */
int verified_check(int *number);

#endif
