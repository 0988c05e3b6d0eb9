/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_config: one record, read once by every packet. Pin name `config`.
 * ARRAY of one, BPF_F_MMAPABLE. The loader writes it; the flip to another
 * generation is one 8-byte store to `generation` through the mapping.
 *
 * The generation counts this node's changes: it advances with every policy,
 * endpoint and rollback, and never goes back. Which policy a generation has in
 * force, bh_blob says. What was asked for last is kept here, whether or not it
 * came about, in the policies' own count.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/config
 */
#ifndef BULKHEAD_MAPS_CONFIG_H
#define BULKHEAD_MAPS_CONFIG_H

#include "maps/types.h"

struct bh_config {
	__u64 generation; /* in force; 0: nothing is, every hook passes and tracks */
	__u32 abi; /* BH_ABI */
	__u32 changes; /* of the maps, two steps each; odd: a command is changing them, or was
			* killed, and the next one clears up */
	__u32 desired_policy; /* whose segments were to be installed: by a load, or staged */
	__u32 desired_endpoint; /* whose segments the endpoints were to be in: by a load */
};
_Static_assert(sizeof(struct bh_config) == 24, "struct bh_config");

#endif
