/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection table's hash: similar keys, as one cluster has them, share a tag or a bucket no
 * more often than random keys, for every seed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "maps/conntrack.h"

#define TAGS (1 << BH_CT_TAG_BITS)
#define BUCKETS BH_CT_BUCKETS(BH_CT_CONNECTIONS)
#define PAIRS_BY_CHANCE(places) (65536ull * 65535 / 2 / (places)) /* of 65536 keys */

/* Bytes of a key that vary, each through all of its 256 values. */
struct two {
	const char *what;
	size_t first, second;
};

#define ADDR4(end, byte) ADDR6(end, 12 + (byte))
#define PORT4(end, byte) PORT6(end, byte)
#define ADDR6(end, byte) (offsetof(struct bh_ct_key, addr) + (end)*16 + (byte))
#define PORT6(end, byte) (offsetof(struct bh_ct_key, port) + (end)*2 + (byte))

static const struct two ipv4[] = {
	{"a port", PORT4(0, 0), PORT4(0, 1)},
	{"the other port", PORT4(1, 0), PORT4(1, 1)},
	{"both ports", PORT4(0, 1), PORT4(1, 1)},
	{"an address", ADDR4(0, 2), ADDR4(0, 3)},
	{"the other address", ADDR4(1, 2), ADDR4(1, 3)},
	{"both addresses", ADDR4(0, 3), ADDR4(1, 3)},
	{"an address and its port", ADDR4(0, 3), PORT4(0, 1)},
	{"an address and the other's port", ADDR4(0, 3), PORT4(1, 1)},
	{"the other address and its port", ADDR4(1, 3), PORT4(1, 1)},
	{"the other address and the first's port", ADDR4(1, 3), PORT4(0, 1)},
	{"protocol and port", offsetof(struct bh_ct_key, protocol), PORT4(1, 1)},
	{"kind and address", offsetof(struct bh_ct_key, kind), ADDR4(1, 3)},
};

static const struct two ipv6[] = {
	{"a port", PORT6(0, 0), PORT6(0, 1)},
	{"the other port", PORT6(1, 0), PORT6(1, 1)},
	{"both ports", PORT6(0, 1), PORT6(1, 1)},
	{"an interface", ADDR6(0, 14), ADDR6(0, 15)},
	{"the other interface", ADDR6(1, 14), ADDR6(1, 15)},
	{"both interfaces", ADDR6(0, 15), ADDR6(1, 15)},
	{"both prefixes", ADDR6(0, 7), ADDR6(1, 7)},
	{"a prefix and its interface", ADDR6(0, 7), ADDR6(0, 15)},
	{"a prefix and the other's interface", ADDR6(0, 7), ADDR6(1, 15)},
	{"the other prefix and the first's interface", ADDR6(1, 7), ADDR6(0, 15)},
	{"an interface and a port", ADDR6(0, 15), PORT6(1, 1)},
	{"protocol and port", offsetof(struct bh_ct_key, protocol), PORT6(1, 1)},
	{"kind and interface", offsetof(struct bh_ct_key, kind), ADDR6(1, 15)},
};

union key {
	struct bh_ct_key key;
	__u64 word[5];
	uint8_t bytes[sizeof(struct bh_ct_key)];
};

static uint32_t tag_of(uint64_t hash)
{
	return bh_ct_hash_tag(hash) >> BH_CT_TAG_SHIFT;
}

static uint32_t first_of(uint64_t hash)
{
	return bh_ct_first(hash, BUCKETS);
}

static uint32_t second_of(uint64_t hash)
{
	return bh_ct_second(hash, BUCKETS);
}

/* A table of 256 buckets: the connections of a bucket differ in their tags. */
static uint32_t tag_in_first(uint64_t hash)
{
	return bh_ct_first(hash, 256) << (BH_CT_TAG_BITS - 8) | tag_of(hash) >> 8;
}

static uint32_t tag_in_second(uint64_t hash)
{
	return bh_ct_second(hash, 256) << (BH_CT_TAG_BITS - 8) | tag_of(hash) >> 8;
}

static const struct {
	const char *what;
	uint32_t (*of)(uint64_t hash);
	uint32_t places;
} all[] = {{"tag", tag_of, TAGS},
	   {"first bucket and most of the tag", tag_in_first, TAGS},
	   {"second bucket and most of the tag", tag_in_second, TAGS},
	   {"first bucket", first_of, BUCKETS},
	   {"second bucket", second_of, BUCKETS}};

static void check(const struct two *two, union key key, uint64_t seed, size_t which)
{
	uint16_t *seen = calloc(all[which].places, sizeof(*seen));
	uint64_t pairs = 0;

	assert_non_null(seen);
	for (int i = 0; i < 65536; i++) {
		uint32_t place;

		key.bytes[two->first] = i >> 8;
		key.bytes[two->second] = i;
		place = all[which].of(bh_ct_hash(seed, key.word));
		assert_true(place < all[which].places);
		pairs += seen[place]++;
	}
	free(seen);
	if (pairs > 2 * PAIRS_BY_CHANCE(all[which].places))
		fail_msg("%s: %llu pairs of keys share a %s, by chance %llu", two->what,
			 (unsigned long long)pairs, all[which].what,
			 PAIRS_BY_CHANCE(all[which].places));
}

static void check_all(const struct two *two, size_t n, union key key)
{
	static const uint64_t seeds[] = {BH_CT_MIX, 0x9e3779b97f4a7c15, 0xd1342543de82ef95};

	for (size_t i = 0; i < n; i++)
		for (size_t seed = 0; seed < sizeof(seeds) / sizeof(seeds[0]); seed++)
			for (size_t which = 0; which < sizeof(all) / sizeof(all[0]); which++)
				check(&two[i], key, seeds[seed], which);
}

static void hash_of_ipv4(void **state)
{
	union key key = {.key = {.port = {htons(40000), htons(443)}, .protocol = IPPROTO_TCP}};

	(void)state;
	for (int end = 0; end < 2; end++) {
		key.bytes[ADDR6(end, 10)] = key.bytes[ADDR6(end, 11)] = 0xff;
		key.bytes[ADDR4(end, 0)] = 10;
		key.bytes[ADDR4(end, 2)] = end;
		key.bytes[ADDR4(end, 3)] = 5 + 4 * end;
	}
	check_all(ipv4, sizeof(ipv4) / sizeof(ipv4[0]), key);
}

static void hash_of_ipv6(void **state)
{
	union key key = {.key = {.port = {htons(40000), htons(443)}, .protocol = IPPROTO_TCP}};

	(void)state;
	key.bytes[ADDR6(0, 0)] = key.bytes[ADDR6(1, 0)] = 0xfd;
	key.bytes[ADDR6(0, 15)] = 5;
	key.bytes[ADDR6(1, 15)] = 9;
	check_all(ipv6, sizeof(ipv6) / sizeof(ipv6[0]), key);
}

/* A slot that is free or busy has no connection; one whose tag is final or proposed has, whatever
 * the hash is. */
static void tag_of_a_filled_slot(void **state)
{
	static const uint64_t hashes[] = {0, 1, 2, 3, 4, 7, 8, 0x80000000, 0xffffffff};

	(void)state;
	assert_false(bh_ct_is_filled(BH_CT_FREE));
	assert_false(bh_ct_is_filled(BH_CT_BUSY));
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		const uint32_t tag = bh_ct_slot_tag(hashes[i]);

		assert_true(bh_ct_is_filled(tag));
		assert_true(bh_ct_is_filled(BH_CT_PROPOSED(tag)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tag_of_a_filled_slot),
		cmocka_unit_test(hash_of_ipv4),
		cmocka_unit_test(hash_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
