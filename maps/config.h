/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_config: one record, which every packet reads once. Pin name `config`. ARRAY of one,
 * BPF_F_MMAPABLE. The loader writes it. The commit to another generation is one 8-byte store to
 * `generation` through the mapping.
 *
 * The generation counts this node's changes: each policy, endpoint and rollback raises it, and
 * nothing lowers it. bh_blob says which policy is active at a generation. The record also keeps the
 * policies' generations that the last load asked for, whether the load succeeded or not.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/config
 */
#ifndef BULKHEAD_MAPS_CONFIG_H
#define BULKHEAD_MAPS_CONFIG_H

#include "maps/types.h"

struct bh_config {
	__u64 generation; /* active; 0: none, every hook passes packets and tracks connections */
	__u32 abi; /* BH_ABI */
	/* counts changes of the maps, two steps each; odd: a command is changing them, or was
	 * killed, and the next command repairs */
	__u32 changes;
	__u32 desired_policy; /* the policy that a load or stage was to install */
	/* the policy whose segments the endpoints were to be in, by a load */
	__u32 desired_endpoint;
};
_Static_assert(sizeof(struct bh_config) == 24, "struct bh_config");

#endif
