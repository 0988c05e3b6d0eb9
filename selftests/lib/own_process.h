/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test with one result whose network namespaces and pins are gone after any exit, a crash or a
 * kill too: it runs in a child process, and the parent removes what the child has pinned.
 */
#ifndef BULKHEAD_SELFTESTS_OWN_PROCESS_H
#define BULKHEAD_SELFTESTS_OWN_PROCESS_H

/*
 * What main() of such a test returns. Without root, it skips. @test runs in a new network
 * namespace, in which its parent is, too; it gets a folder of bpffs that is its own and not made
 * yet, and returns the exit status.
 */
int own_process_run(int (*test)(const char *pin));

#endif
