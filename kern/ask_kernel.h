/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds out what an evaluation asked for (the internal reasons of address_owner.h), before the
 * packet is evaluated again. */
#ifndef BULKHEAD_KERN_ASK_KERNEL_H
#define BULKHEAD_KERN_ASK_KERNEL_H

#include "address_owner.h"
#include "domain.h"
#include "links.h"
#include "local.h"
#include "netfilter.h"
#include "scope.h"

/* Asks the kernel's conntrack, its routes, or its list of interfaces (and the conntrack if an
 * interface has no hook). For CONNECTION_OF_OTHERS, gives the packet a key of this hook's own and
 * asks for nothing. */
BPF_GLOBAL int ask_kernel(struct __sk_buff *skb, struct packet *p, int reason)
{
	if (!p)
		return 0;
	switch (reason) {
	case CONNECTION_ASKS:
		p->told = netfilter_ask(skb, p);
		break;
	case CONNECTION_ASKS_ROUTE:
		p->local = local_called(skb, p) ? LOCAL_HERE : LOCAL_ELSEWHERE;
		break;
	case CONNECTION_ASKS_LINKS:
		p->links = links_are_guarded(skb) ? LINKS_GUARDED : LINKS_STRAY;
		if (p->links == LINKS_STRAY)
			p->told = netfilter_ask(skb, p);
		break;
	case CONNECTION_ASKS_NAMES:
		p->named = domain_ask(p);
		break;
	default:
		scope_hook(p);
		/* of the entry, and of the end that is its initiator: the peer, maybe */
		p->lives = false;
		p->named = 0;
		if (p->told) /* the answer was about the former key */
			p->told = netfilter_ask(skb, p);
	}
	return 0;
}

#endif
