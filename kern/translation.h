/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's own conntrack says of a connection whose packets the node
 * translates: who made it, what it called, and which backend answers. It is asked
 * only where nothing else tells, and it knows TCP and UDP of its default zone.
 */
#ifndef BULKHEAD_KERN_TRANSLATION_H
#define BULKHEAD_KERN_TRANSLATION_H

#include "packet.h"
#include "tunables.h"
#include "maps/translation.bpf.h"

/* What translation_ask() found: values of struct packet's `told`. */
#define TOLD_NOTHING 1 /* the kernel knows no such connection, or cannot be asked */
#define TOLD_ORIGINAL 2 /* the packet is of who made the connection */
#define TOLD_REPLY 3

/* Whether the packet has ports by which the node may translate it, of which the kernel cannot be
 * asked. */
static __always_inline bool translation_is_silent(const struct packet *p)
{
	return p->protocol == IPPROTO_SCTP ||
	       (!kernel_conntrack && (p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP));
}

/* Tells what is of another packet, that came in the middle of this one, from what is of this one.
 */
static __always_inline __u64 translation_packet(const struct packet *p)
{
	return (p->hash ^ p->ifindex ^ (__u64)p->generation << 32) | 1;
}

/* What translation_ask() left; NULL: the kernel knew nothing, or was not asked. */
static __always_inline struct bh_translation *translation_told(const struct packet *p)
{
	__u32 zero = 0;
	struct bh_translation *told =
		p->told > TOLD_NOTHING ? bpf_map_lookup_elem(&bh_translation, &zero) : NULL;

	return told && told->packet == translation_packet(p) ? told : NULL;
}

/*
 * The other address of one end of the connection, where the kernel has translated
 * it: the @initiator's own, or the backend's in place of what was called. Returns
 * its port; 0: nothing is known, and the address on the wire stands.
 */
static __noinline __u32 translation_address(const struct packet *p, __u32 initiator, __u32 end,
					    struct bh_addr *addr)
{
	struct bh_translation *told = translation_told(p);

	if (!told || p->told != (p->from == initiator ? TOLD_ORIGINAL : TOLD_REPLY))
		return 0;
	/* Apart: 6.1 does not follow an offset that depends on which end it is. */
	if (end == initiator) {
		*addr = told->initiator;
		return bpf_ntohs(told->initiator_port);
	}
	barrier();
	*addr = told->backend;
	return bpf_ntohs(told->backend_port);
}

#endif
