// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests of selftests/rows/, on one node: the kernel verifies the programs once for all of them.
 * On an emulated machine that takes longer than the rows do. Each test finds the node as it was
 * made.
 */
#include <stdio.h>

#include "selftests/lib/ktap.h"
#include "selftests/lib/packet_rows.h"
#include "selftests/lib/verified.h"

extern const struct packet_table packet_anti_spoofing, packet_neighbour, packet_parse,
	packet_policy, packet_fast_path, packet_bridged, packet_port;

static const struct packet_table *const tables[] = {
	&packet_anti_spoofing, &packet_neighbour, &packet_parse, &packet_policy,
	&packet_fast_path,     &packet_bridged,	  &packet_port,
};

static int (*const walks[])(int *number) = {packet_connection, packet_event, packet_random};

/* Makes the node again. Returns 1 if it has other entries than before the first test, else 0. */
static int make_again(int entries, int *number)
{
	packet_node_open();
	return ktap_row(++*number, packet_node_entries() == entries,
			"the next test finds the node as it was made");
}

int main(void)
{
	int number = 0, failed = 0, entries;

	packet_node_open();
	entries = packet_node_entries();
	failed += verified_check(&number);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		failed += packet_table_run(tables[i], &number);
		failed += make_again(entries, &number);
	}
	for (size_t i = 0; i < sizeof(walks) / sizeof(*walks); i++) {
		failed += walks[i](&number);
		failed += make_again(entries, &number);
	}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
