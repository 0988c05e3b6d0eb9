/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_blob: a compiled policy as it was loaded, so that the next command
 * continues it. Pin names `blob` and, from when a load has staged it until what
 * it replaces is collected, `blob_next`; of the two, the one with the higher
 * generation that is not above bh_config.generation is in force. ARRAY of pages,
 * BPF_F_MMAPABLE, one for each policy: this header and the bytes of the blob,
 * one after the other. The programs do not read it. A policy that is staged
 * waits in `blob_next` with the generation BH_BLOB_STAGED: its segments are
 * there, and nobody is in them yet.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/blob
 */
#ifndef BULKHEAD_MAPS_BLOB_H
#define BULKHEAD_MAPS_BLOB_H

#include "maps/types.h"

#define BH_BLOB_PAGE 4096
#define BH_BLOB_STAGED (~0ull)

/*
 * A policy of another descent than the one in force gives its own meaning to
 * the same IDs; in the maps, its IDs are told apart by this bit.
 */
#define BH_IDS_OTHER (1u << 31)

struct bh_blob {
	__u64 generation; /* of bh_config, from which on this policy is in force */
	__u64 length; /* of the blob, bytes */
	__u32 ids; /* BH_IDS_OTHER or 0: segment, class, list and resolution IDs are XORed with it
		    */
	__u32 policy; /* the policy's own generation */
	char node[256]; /* which of the policy's nodes this one is */
};
_Static_assert(sizeof(struct bh_blob) == 280, "struct bh_blob");

#endif
