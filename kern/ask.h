/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked before a packet is judged once more, for the reasons of connection.h. */
#ifndef BULKHEAD_KERN_ASK_H
#define BULKHEAD_KERN_ASK_H

#include "connection.h"
#include "links.h"
#include "local.h"
#include "netfilter.h"
#include "scope.h"

/* The kernel's conntrack; the kernel's routes; its interfaces and, where one of them has no hook,
 * the conntrack; or, since of an entry of other ends nothing counts here, nobody, but under a key
 * of this hook's own. */
BPF_GLOBAL int ask_again(struct __sk_buff *skb, struct packet *p, int reason)
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
	default:
		scope_hook(p);
		p->told = 0; /* under another key */
	}
	return 0;
}

#endif
