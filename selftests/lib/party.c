// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/party.h"

static uint32_t interface_of(const struct party *party)
{
	switch (party->host) {
	case HOST_A:
		return packet_node_ifindex(FROM_A);
	case HOST_B:
		return packet_node_ifindex(FROM_B);
	case HOST_C:
		return packet_node_crowd_ifindex(party->nth);
	default:
		return 0;
	}
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/* Writes what tells the party from others of its kind: the last bytes of its addresses. */
static void put_party(struct packet_frame *frame, uint8_t version, const struct party *party,
		      bool source)
{
	size_t size = version == 4 ? 4 : 16, addresses = frame->l3 + (version == 4 ? 12 : 8);
	uint16_t last = party->host == HOST_C ? PACKET_CROWD + party->nth : party->nth;

	if (party->host != HOST_C && party->host != HOST_WORLD)
		return;
	put16(frame->bytes + addresses + (source ? size : 2 * size) - 2, last);
	if (party->host == HOST_C)
		put16(frame->bytes + (source ? 10 : 4), last);
}

bool party_sends(const struct party *from, const struct party *to, struct packet_spec spec)
{
	uint32_t out = interface_of(from), in = interface_of(to);
	uint32_t uplink = from->host == HOST_NODE ? 0 : packet_node_ifindex(UPLINK);
	struct packet_frame frame;

	spec.from = from->host;
	spec.to = to->host;
	packet_build(&spec, &frame);
	put_party(&frame, spec.version, from, true);
	put_party(&frame, spec.version, to, false);
	if (out && packet_node_verdict_at(false, out, frame.bytes, frame.length, out) <= 0)
		return false;
	return !in ||
	       packet_node_verdict_at(true, in, frame.bytes, frame.length, out ? out : uplink) > 0;
}
