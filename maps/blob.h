/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_blob: a compiled policy as it was loaded, so that the next command can continue it. Pin names
 * `blob` and `blob_next`; `blob_next` exists from the moment a load stages a policy until the
 * policy that it replaces is collected. The one with the higher generation that is not above
 * bh_config.generation is active. ARRAY of pages, BPF_F_MMAPABLE, one map a policy. Programs do not
 * read it. A staged policy waits in `blob_next` with the generation BH_BLOB_STAGED: its segments
 * are in the maps, and no endpoint is in them.
 *
 * The pages hold this header, a record for each block, and the blocks. A block is BH_BLOB_BLOCK
 * bytes (the last one fewer), compressed as a zstd frame of its own, so that a command reads and
 * verifies only the blocks that it needs. Uncompressed they are the blob and, from the next
 * multiple of 8 on, the slot in bh_segments of each of its segments (__u32; 0: the segment is
 * deleted or has none).
 *
 * After small changes a policy may be pinned as a delta of an earlier one, which then stays pinned
 * as `blob_base`. Its pages hold this header, the slots and the delta (user/policy/delta.h, not
 * compressed), each from a multiple of 8 on.
 *
 * The node's extension of the policy (segments that only this node has, user/compile/extend.h) is
 * one more delta, at `local_at` in the pages of either form. The slots are those of the policy's
 * segments, then those of the extension's.
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
 * A policy of another lineage than the active one gives other meanings to the same IDs. In the maps
 * this bit tells the two apart.
 */
#define BH_IDS_OTHER (1u << 31)

/*
 * `endpoint add` of an endpoint that fits no segment of the policy makes one, on this node alone.
 * IDs of such segments, classes, lists and resolutions begin here (before the XOR), so that no
 * successor of the policy gives them another meaning.
 */
#define BH_IDS_LOCAL (1u << 30)

/* An older command loaded only the part of the policy that this node needs: no command uses it. */
#define BH_BLOB_PART (1u << 0)

/* The policy was loaded with --audit: this node drops nothing. */
#define BH_BLOB_AUDIT (1u << 1)

struct bh_blob {
	/* XXH3 (64 bits, no seed) of the rest of the header and of the records; with a base, of all
	 * that follows. */
	__u64 checksum;
	__u64 generation; /* of bh_config; this policy is active from it on */
	__u64 length; /* bytes of the blob */
	__u32 segments; /* number of slots */
	__u32 blocks; /* 0 with a base */
	__u64 base; /* checksum of the policy in `blob_base` that this one changes; 0: none */
	__u64 delta; /* bytes of the delta */
	/* BH_IDS_OTHER or 0; segment, class, list and resolution IDs are XORed with it */
	__u32 ids;
	__u32 policy; /* the policy's own generation */
	__u32 flags; /* BH_BLOB_AUDIT */
	__u32 loaded; /* when it was written, seconds since 1970 */
	__u64 local_at; /* offset in the pages of the delta that this node adds */
	__u64 local; /* its bytes; 0: this node adds nothing */
	__u64 local_checksum; /* XXH3 of it */
	__u32 local_next; /* IDs that this node gave are less; 0: it gave none */
	__u32 ports_end; /* entries of bh_ports from here on are free; 0: not known */
	char node[256]; /* name of this node in the policy */
	char by[64]; /* who wrote it: "alice with load"; "": not known */
};
_Static_assert(sizeof(struct bh_blob) == 416, "struct bh_blob");

struct bh_blob_block {
	__u64 checksum; /* XXH3 of the compressed bytes */
	__u64 at; /* offset of the compressed bytes in the pages */
	__u32 size; /* number of compressed bytes */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_blob_block) == 24, "struct bh_blob_block");

#endif
