/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_translation: the answer of the kernel's conntrack about the connection of the packet that this
 * CPU is evaluating. Pin name `translation`. PERCPU_ARRAY of one. The programs write it and read it
 * back for the same packet: their stack has no room for it. No other program or command reads it. A
 * packet that interrupts another one replaces the answer, which then counts as none: the
 * interrupted packet is evaluated by its own addresses. Each CPU has one answer, so nobody can fill
 * the map.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/translation
 */
#ifndef BULKHEAD_MAPS_TRANSLATION_H
#define BULKHEAD_MAPS_TRANSLATION_H

#include "maps/types.h"

struct bh_translation {
	struct bh_addr initiator; /* who opened the connection, before any translation */
	struct bh_addr called; /* the address that it called, such as a Service's */
	struct bh_addr backend; /* who answers, after every translation */
	__be16 initiator_port, called_port, backend_port;
	__be16 reply_port; /* to which the backend answers: the initiator's, unless masqueraded */
	__u64 packet; /* the packet that this belongs to; 0: none */
};
_Static_assert(sizeof(struct bh_translation) == 64, "struct bh_translation");

#endif
