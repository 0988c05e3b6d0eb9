/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of what has no handshake: UDP, SCTP, ICMP queries and the rest. The
 * first packet opens, the other end's packets are replies.
 */
#ifndef BULKHEAD_KERN_DATAGRAM_H
#define BULKHEAD_KERN_DATAGRAM_H

#include "connection.h"

/* An entry is a connection for the initiator's packets; for those of the other end only once that
 * end has consented, else whoever is denied could keep the way back shut. */
static __always_inline bool flow_is_of(const struct packet *p, const struct bh_ct *ct)
{
	return ct_sender(p, READ_ONCE(ct->verdict[BH_EGRESS])) == BH_EGRESS ||
	       READ_ONCE(ct->verdict[BH_INGRESS]);
}

static __noinline int flow_insert(struct packet *p, const struct connection *c)
{
	struct icmp_query query = {};
	struct bh_ct new;
	int reason = connection_new(p, c, &new);

	if (bh_reason_drops(reason))
		return reason;
	if (p->protocol == IPPROTO_ICMP || p->protocol == IPPROTO_ICMPV6)
		query = icmp_query(p->protocol, p->type);
	/* A reply that nobody asked for opens nothing. */
	if ((!query.type || query.asks) && ct_insert(p, &new))
		return connection_without(p, c);
	return reason;
}

BPF_GLOBAL int datagram_open(struct packet *p)
{
	struct connection c;

	if (!p)
		return BH_DROP_MAPS;
	return connection_closed(p, &c) ? connection_drop(p, &c) : flow_insert(p, &c);
}

static __always_inline int datagram_packet(struct packet *p)
{
	struct bh_ct *ct = p->absent ? NULL : ct_find(p);

	return ct && flow_is_of(p, ct) ? connection_again(p, ct) : datagram_open(p);
}

#endif
