/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_denials: the packets that policy has denied last. Pin name `denials`. PERCPU_ARRAY of one.
 * Only the programs write it. A flood sends the same packet again. So the second denied packet
 * of a flow within a jiffy leaves its record, which serves the next ones without an evaluation:
 * each counts, and is reported, as that one was. A slot's index is bits of the key's hash.
 *
 * A slot serves within the jiffy of the evaluation (1 to 10 ms), at the same generation and step of
 * bh_config.changes, for packets with the same key, source, interfaces, MACs and entry of the
 * kernel's conntrack, and while the table of connections has no entry of the key. It has only what
 * policy denies to a packet that would open a connection: nothing that a domain name, the kernel's
 * routes or a Service's backend decides.
 *
 * Senders of denied packets fill the slots, and a flow replaces another one of the same slot. A
 * flow that loses its slot costs two evaluations.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/denials
 */
#ifndef BULKHEAD_MAPS_DENIAL_H
#define BULKHEAD_MAPS_DENIAL_H

#include "maps/conntrack.h"
#include "maps/event.h"

#define BH_DENIAL_BITS 6 /* bits of the key's hash that are the index */

struct bh_denial {
	/* Stamps: a key's hash and the jiffy, added. Of the last flow denied in this slot: */
	__u64 seen;
	__u64 kept; /* of the flow that has left the record; 0: the slot is void */
	struct bh_ct_key key;
	/* two MACs of six bytes and parts of what is beside them, as kern/denial.h reads a frame */
	__u64 mac[2];
	__u64 tracked; /* stands for the packet's entry of the kernel's conntrack */
	__u32 changes; /* of bh_config */
	__u32 ingress; /* the interface by which the packet came in */
	__u32 sequence; /* odd while a program writes the slot */
	__u32 pad;
	struct bh_event event; /* as reported, but for the length */
};
_Static_assert(sizeof(struct bh_denial) == 168, "struct bh_denial");

struct bh_denials {
	struct bh_denial slot[1 << BH_DENIAL_BITS];
};

#endif
