/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a test in a child process, whose network namespaces end with it; the parent then removes the
 * child's pins. So nothing is left after any exit, a crash or a kill.
 */
#ifndef BULKHEAD_SELFTESTS_OWN_PROCESS_H
#define BULKHEAD_SELFTESTS_OWN_PROCESS_H

/*
 * For main(): returns the test's exit status. Skips without root. @test runs in a new network
 * namespace, the parent in another one; @pin is a path on bpffs for this test, not created yet.
 */
int own_process_run(int (*test)(const char *pin));

#endif
