/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An independent implementation of the verdicts on the node of packet_node.h, written from the RFCs
 * and that policy for comparison. It is slow and checks every access.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_READING_H
#define BULKHEAD_SELFTESTS_PACKET_READING_H

#include "selftests/lib/packet_node.h"

/*
 * @ingress is the interface by which the frame came in, 0: made on the node. @open are the open TCP
 * and UDP connections, as packets of their initiators; version 0 ends the list; NULL: none. Returns
 * true if the frame passes.
 */
bool packet_reading_passes(enum packet_hook hook, const uint8_t *frame, size_t length,
			   uint32_t ingress, const struct packet_spec *open);

#endif
