/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's grace periods. The kernel waits for one, some 10 to 25 ms, each time it attaches or
 * detaches a TCX link, with the lock that all changes of interfaces take. It waits some 0.1 ms
 * while /sys/kernel/rcu_expedited is not 0.
 *
 * A command that waits writes a mark there: RCU_MARK plus the ID of a map that the command made for
 * this purpose. The kernel frees that ID as soon as the command ends, however the command ends. So
 * any command, in any namespace and with any pin folder, sees if the mark's command still runs, and
 * writes 0 over the mark of a command that does not. A value that is no mark is another's: no
 * command writes over it.
 */
#ifndef BULKHEAD_NODE_RCU_H
#define BULKHEAD_NODE_RCU_H

#include "node/kernel/handle.h"

#define RCU_MARK (1l << 30)

/*
 * Waits until every program that runs now has ended. Afterwards no program reads an entry that no
 * other entry led to when the call began. Returns 0 or -errno, reported.
 */
int rcu_wait(struct node_handle *handle);

/*
 * Expedites grace periods from now until rcu_restore(). To be called before each step that makes
 * the kernel wait: a command that ends meanwhile writes 0 over its own mark. Does nothing if
 * /sys/kernel/rcu_normal is not 0, if the setting `rcu` is normal, or if the file cannot be
 * written.
 */
void rcu_expedite(struct node_handle *handle);

/* Writes 0 over the mark of this command, or of a command that was killed. */
void rcu_restore(struct node_handle *handle);

#endif
