/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets between endpoints of packet_node_crowd(), hosts outside, and the hosts of
 * packet_node.h. */
#ifndef BULKHEAD_SELFTESTS_PARTY_H
#define BULKHEAD_SELFTESTS_PARTY_H

#include "selftests/lib/packet_node.h"

/* An end of a connection: HOST_C stands for an endpoint of the crowd, HOST_WORLD for any host
 * outside. */
struct party {
	enum packet_host host;
	uint32_t nth; /* of the crowd; of the hosts outside: last two bytes of the address */
};

/* Sends a packet through the hook of its sender and that of its receiver, on this CPU. Returns true
 * if it passes. @spec: with the IP version, without the ends. */
bool party_sends(const struct party *from, const struct party *to, struct packet_spec spec);

#endif
