/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_translation: what the kernel's own conntrack says of the connection of the
 * packet that is in hand on this CPU. Pin name `translation`. PERCPU_ARRAY of one.
 * The programs write it and read it back while they judge that packet: it is room
 * that their stack has not. Nobody else reads it.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/translation
 */
#ifndef BULKHEAD_MAPS_TRANSLATION_H
#define BULKHEAD_MAPS_TRANSLATION_H

#include "maps/types.h"

struct bh_translation {
	struct bh_addr initiator; /* who made the connection, before any translation */
	struct bh_addr called; /* what it called: a Service's address, say */
	struct bh_addr backend; /* who answers, behind every translation */
	__be16 initiator_port, called_port, backend_port;
	__u16 pad;
	__u64 packet; /* which packet this is of; 0: of none */
};
_Static_assert(sizeof(struct bh_translation) == 64, "struct bh_translation");

#endif
