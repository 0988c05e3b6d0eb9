/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer of the kernel's conntrack about a connection that the node translates: its initiator,
 * the address that it called, and its backend. Programs ask only if nothing else tells. The
 * kernel's table has TCP and UDP of its default zone.
 */
#ifndef BULKHEAD_KERN_TRANSLATION_H
#define BULKHEAD_KERN_TRANSLATION_H

#include "packet.h"
#include "tunables.h"
#include "maps/translation.bpf.h"

/* The answer of netfilter_ask(): values of struct packet's `told`. */
#define TOLD_NOTHING 1 /* the kernel knows no such connection, or cannot be asked */
#define TOLD_ORIGINAL 2 /* the packet is the initiator's */
#define TOLD_REPLY 3

/* Returns true if conntrack has the packet's protocol, where it can be asked. */
static __always_inline bool translation_is_tracked(const struct packet *p)
{
	return p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP;
}

/* Returns true if the node may translate the packet, but the kernel's conntrack cannot be asked
 * about it. */
static __always_inline bool translation_is_silent(const struct packet *p)
{
	return p->protocol == IPPROTO_SCTP || (!kernel_conntrack && translation_is_tracked(p));
}

/* Returns an identifier of the packet. A packet that interrupts this one on the CPU has another, so
 * its answer is not taken for this one's. */
static __always_inline __u64 translation_packet(const struct packet *p)
{
	return (p->hash ^ p->ifindex ^ (__u64)p->generation << 32) | 1;
}

/* Returns the answer of netfilter_ask(); NULL: the kernel knew nothing, or was not asked. */
static __always_inline struct bh_translation *translation_answer(const struct packet *p)
{
	__u32 zero = 0;
	struct bh_translation *told =
		p->told > TOLD_NOTHING ? bpf_map_lookup_elem(&bh_translation, &zero) : NULL;

	return told && told->packet == translation_packet(p) ? told : NULL;
}

/*
 * Finds the translated address of an end: the initiator's own, or the backend's in place of the
 * called one. Returns its port; 0: the kernel told nothing, and the packet's address counts.
 */
BPF_GLOBAL __u32 translation_address(const struct packet *p, __u32 initiator, __u32 end,
				     struct bh_addr *addr)
{
	struct bh_translation *told = p ? translation_answer(p) : NULL;

	if (!told || !addr || p->told != (p->from == initiator ? TOLD_ORIGINAL : TOLD_REPLY))
		return 0;
	/* Two branches: the verifier of 6.1 does not follow an offset that depends on the end. */
	if (end == initiator) {
		*addr = told->initiator;
		return bpf_ntohs(told->initiator_port);
	}
	barrier();
	*addr = told->backend;
	return bpf_ntohs(told->backend_port);
}

/* Returns true if the packet is a reply to an initiator who is behind the address that it goes
 * to. */
BPF_GLOBAL __u32 translation_masks(const struct packet *p)
{
	struct bh_addr initiator = {};
	const __be32 *to;

	if (!p || !translation_address(p, !p->from, !p->from, &initiator))
		return false;
	to = packet_address_at(p, !p->from)->word;
	return (initiator.word[0] ^ to[0]) | (initiator.word[1] ^ to[1]) |
	       (initiator.word[2] ^ to[2]) | (initiator.word[3] ^ to[3]);
}

#endif
