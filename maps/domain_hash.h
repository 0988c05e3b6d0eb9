/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hash of a domain name: SipHash-2-4 over its labels from the last to the first, so that one
 * walk over a name gives the hash of each of its suffixes. Each label is absorbed as its length and
 * its bytes, in lower case, in words of eight bytes. The key is secret, so that nobody finds two
 * names that hash alike. The loader makes it at random, and keeps it as long as the maps.
 */
#ifndef BULKHEAD_MAPS_DOMAIN_HASH_H
#define BULKHEAD_MAPS_DOMAIN_HASH_H

#include "maps/types.h"

#define BH_DOMAIN_LABEL 63 /* the most bytes of a label */
#define BH_DOMAIN_NAME 255 /* the most bytes of a name as DNS writes it, with its last zero */

#define BH_DOMAIN_EXACT 0xf1u /* finalizes the hash of a name */
#define BH_DOMAIN_WILDCARD 0x2au /* of a wildcard, without its `*.` */
#define BH_DOMAIN_OWNER 0x53u /* of a key of bh_learned (dns.h) */

struct bh_domain_hash {
	__u64 v[4];
};

#define BH_DOMAIN_INLINE static inline __attribute__((always_inline))

BH_DOMAIN_INLINE __u64 bh_domain_rotate(__u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

BH_DOMAIN_INLINE void bh_domain_round(struct bh_domain_hash *h)
{
	h->v[0] += h->v[1];
	h->v[1] = bh_domain_rotate(h->v[1], 13) ^ h->v[0];
	h->v[0] = bh_domain_rotate(h->v[0], 32);
	h->v[2] += h->v[3];
	h->v[3] = bh_domain_rotate(h->v[3], 16) ^ h->v[2];
	h->v[0] += h->v[3];
	h->v[3] = bh_domain_rotate(h->v[3], 21) ^ h->v[0];
	h->v[2] += h->v[1];
	h->v[1] = bh_domain_rotate(h->v[1], 17) ^ h->v[2];
	h->v[2] = bh_domain_rotate(h->v[2], 32);
}

BH_DOMAIN_INLINE void bh_domain_begin(struct bh_domain_hash *h, __u64 key0, __u64 key1)
{
	h->v[0] = key0 ^ 0x736f6d6570736575ull;
	h->v[1] = key1 ^ 0x646f72616e646f6dull;
	h->v[2] = key0 ^ 0x6c7967656e657261ull;
	h->v[3] = key1 ^ 0x7465646279746573ull;
}

BH_DOMAIN_INLINE void bh_domain_absorb(struct bh_domain_hash *h, __u64 word)
{
	h->v[3] ^= word;
	bh_domain_round(h);
	bh_domain_round(h);
	h->v[0] ^= word;
}

/* Returns the hash of the labels that were absorbed. @kind: BH_DOMAIN_*. Changes nothing, so that
 * the walk can go on. */
BH_DOMAIN_INLINE __u64 bh_domain_end(const struct bh_domain_hash *h, __u32 kind)
{
	struct bh_domain_hash end = *h;

	end.v[2] ^= kind;
	bh_domain_round(&end);
	bh_domain_round(&end);
	bh_domain_round(&end);
	bh_domain_round(&end);
	return end.v[0] ^ end.v[1] ^ end.v[2] ^ end.v[3];
}

/* Returns eight bytes with the letters A to Z in lower case. */
BH_DOMAIN_INLINE __u64 bh_domain_lower(__u64 word)
{
	const __u64 ones = 0x0101010101010101ull;
	__u64 low = word & ones * 0x7f;
	__u64 from_a = low + ones * (0x80 - 'A'), after_z = low + ones * (0x80 - 'Z' - 1);
	__u64 upper = from_a & ~after_z & ~word & ones * 0x80;

	return word | upper >> 2;
}

#endif
