/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks in the skb's tc_index, by which a hook tells the next one of an audited packet (audit.h).
 * selftests/helpers/foreign.c writes such a mark as another program would.
 */
#ifndef BULKHEAD_KERN_AUDIT_MARK_H
#define BULKHEAD_KERN_AUDIT_MARK_H

#define AUDIT_HANDED_ON 0xb400u /* with the reason: the next hook counts the packet */
#define AUDIT_COUNTED 0xb500u /* the sender's hook has counted the packet */
#define AUDIT_REASON 0xffu /* mask of the reason */

#endif
