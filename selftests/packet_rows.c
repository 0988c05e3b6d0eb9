// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of selftests/rows/, on one node: the kernel verifies the programs once for all of
 * them. On an emulated machine that takes longer than the rows do.
 */
#include <stdio.h>

#include "selftests/lib/packet_rows.h"
#include "selftests/lib/verified.h"

extern const struct packet_table packet_anti_spoofing, packet_neighbour, packet_parse,
	packet_policy, packet_fast_path, packet_bridged, packet_port;

/* The last two make ports of a bridge, which stay. */
static const struct packet_table *const tables[] = {
	&packet_anti_spoofing, &packet_neighbour, &packet_parse, &packet_policy,
	&packet_fast_path,     &packet_bridged,	  &packet_port,
};

int main(void)
{
	int number = 0, failed = 0;

	packet_node_open();
	failed += verified_check(&number);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		failed += packet_table_run(tables[i], &number);
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
