/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_blob: a compiled policy as it was loaded, so that the next command
 * continues it. Pin names `blob` and, from when a load has staged it until what
 * it replaces is collected, `blob_next`; of the two, the one with the higher
 * generation that is not above bh_config.generation is in force. ARRAY of pages,
 * BPF_F_MMAPABLE, one for each policy. The programs do not read it. A policy
 * that is staged waits in `blob_next` with the generation BH_BLOB_STAGED: its
 * segments are there, and nobody is in them yet.
 *
 * The pages hold, one after the other: this header; a record for each block;
 * the blocks. A block is BH_BLOB_BLOCK bytes (the last one fewer), compressed by
 * itself as a zstd frame, so that a command reads, and verifies, only those that
 * it needs. What they come to is the blob and, from the next multiple of 8 on,
 * for each of its segments the slot in bh_segments (__u32; 0: deleted, none).
 *
 * After small changes a policy may be pinned as what it changes of an earlier one,
 * which then stays pinned as `blob_base`. Its pages hold, each from a multiple of
 * 8 on: this header; the slots; the delta (user/compile/delta.h, not compressed).
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/blob
 */
#ifndef BULKHEAD_MAPS_BLOB_H
#define BULKHEAD_MAPS_BLOB_H

#include "maps/types.h"

#define BH_BLOB_PAGE 4096
#define BH_BLOB_BLOCK 16384
#define BH_BLOB_STAGED (~0ull)

/*
 * A policy of another descent than the one in force gives its own meaning to
 * the same IDs; in the maps, its IDs are told apart by this bit.
 */
#define BH_IDS_OTHER (1u << 31)

/* Not all of the policy is in the maps, but what this node needs. */
#define BH_BLOB_NEEDED (1u << 0)

/* It was loaded to drop nothing, on this whole node. */
#define BH_BLOB_AUDIT (1u << 1)

struct bh_blob {
	__u64 checksum; /* XXH3 (64 bits, no seed) of the rest of the header, and of the records or,
			 * with a base, of all the rest */
	__u64 generation; /* of bh_config, from which on this policy is in force */
	__u64 length; /* of the blob, bytes */
	__u32 segments; /* how many slots follow it */
	__u32 blocks; /* 0 with a base */
	__u64 base; /* checksum of the policy of `blob_base` that this one changes; 0: it is whole
		     */
	__u64 delta; /* bytes */
	__u32 ids; /* BH_IDS_OTHER or 0: segment, class, list and resolution IDs are XORed with it
		    */
	__u32 policy; /* the policy's own generation */
	__u32 flags; /* BH_BLOB_NEEDED, BH_BLOB_AUDIT */
	__u32 loaded; /* when it was laid out here, seconds since 1970 */
	char node[256]; /* which of the policy's nodes this one is */
};
_Static_assert(sizeof(struct bh_blob) == 320, "struct bh_blob");

struct bh_blob_block {
	__u64 checksum; /* XXH3 of the compressed bytes */
	__u64 at; /* offset of those in the pages */
	__u32 size; /* bytes */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_blob_block) == 24, "struct bh_blob_block");

#endif
