/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second reading of the same bytes: what the programs should do with a frame on
 * the node of packet_node.h. Written from the RFCs and the policy there, for
 * comparison; slow, and with every access checked.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_READING_H
#define BULKHEAD_SELFTESTS_PACKET_READING_H

#include "selftests/lib/packet_node.h"

/*
 * @ingress: the interface it came in by, 0: made on the node. @open: the connections there are, TCP
 * or UDP, as packets of the one who opened them; version 0 ends; NULL: none. Returns whether it
 * passes.
 */
bool packet_reading_passes(enum packet_hook hook, const uint8_t *frame, size_t length,
			   uint32_t ingress, const struct packet_spec *open);

#endif
