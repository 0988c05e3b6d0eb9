/* SPDX-License-Identifier: GPL-2.0-only */
/* The tags of connections: keys that differ as those of one cluster do share one no more often than
 * chance has it. */
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
#define PAIRS_BY_CHANCE (65536ull * 65535 / 2 / TAGS) /* of 65536 keys */

/* Bytes of a key that vary, each through all of its 256 values. */
struct two {
	const char *what;
	size_t first, second;
};

#define ADDR4(end, byte) (offsetof(struct bh_ct_key4, addr) + (end) * 4 + (byte))
#define PORT4(end, byte) (offsetof(struct bh_ct_key4, port) + (end) * 2 + (byte))
#define ADDR6(end, byte) (offsetof(struct bh_ct_key6, addr) + (end) * 16 + (byte))
#define PORT6(end, byte) (offsetof(struct bh_ct_key6, port) + (end) * 2 + (byte))

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
	{"protocol and port", offsetof(struct bh_ct_key4, protocol), PORT4(1, 1)},
	{"kind and address", offsetof(struct bh_ct_key4, kind), ADDR4(1, 3)},
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
	{"protocol and port", offsetof(struct bh_ct_key6, protocol), PORT6(1, 1)},
	{"kind and interface", offsetof(struct bh_ct_key6, kind), ADDR6(1, 15)},
};

union key {
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;
	uint8_t bytes[sizeof(struct bh_ct_key6)];
};

static void check(const struct two *two, union key key, bool is_ipv6)
{
	uint8_t *seen = calloc(TAGS, 1);
	uint64_t pairs = 0;

	assert_non_null(seen);
	for (int i = 0; i < 65536; i++) {
		uint32_t tag;

		key.bytes[two->first] = i >> 8;
		key.bytes[two->second] = i;
		tag = is_ipv6 ? bh_ct_tag6(&key.key6) : bh_ct_tag4(&key.key4);
		assert_int_equal(tag & BH_CT_FLAGS, 0);
		pairs += seen[tag >> BH_CT_TAG_SHIFT];
		seen[tag >> BH_CT_TAG_SHIFT] += seen[tag >> BH_CT_TAG_SHIFT] < 255;
	}
	free(seen);
	if (pairs > 2 * PAIRS_BY_CHANCE)
		fail_msg("%s: %llu pairs of keys share a tag, by chance %llu", two->what,
			 (unsigned long long)pairs, PAIRS_BY_CHANCE);
}

static void tags_of_ipv4(void **state)
{
	union key key = {.key4 = {.addr = {htonl(0x0a000005), htonl(0x0a000109)},
				  .port = {htons(40000), htons(443)},
				  .protocol = IPPROTO_TCP}};

	(void)state;
	for (size_t i = 0; i < sizeof(ipv4) / sizeof(ipv4[0]); i++)
		check(&ipv4[i], key, false);
}

static void tags_of_ipv6(void **state)
{
	union key key = {.key6 = {.port = {htons(40000), htons(443)}, .protocol = IPPROTO_TCP}};

	(void)state;
	key.bytes[ADDR6(0, 0)] = key.bytes[ADDR6(1, 0)] = 0xfd;
	key.bytes[ADDR6(0, 15)] = 5;
	key.bytes[ADDR6(1, 15)] = 9;
	for (size_t i = 0; i < sizeof(ipv6) / sizeof(ipv6[0]); i++)
		check(&ipv6[i], key, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_of_ipv4),
		cmocka_unit_test(tags_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
