/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of the kernel's conntrack: the tuple of the initiator's packets before the node
 * translates their addresses, and after. By these, the event of a packet to a backend leads to the
 * Service that the packet was sent to.
 */
#ifndef BULKHEAD_NODE_TRANSLATIONS_H
#define BULKHEAD_NODE_TRANSLATIONS_H

#include <linux/types.h>

#include "model/cluster.h"

struct nfct_handle;

struct tuple {
	struct address source, destination;
	__be16 source_port, destination_port;
	uint8_t protocol;
	uint8_t pad; /* 0, since tuples are compared as bytes */
};

struct nf_conntrack;
void tuples_read(const struct nf_conntrack *ct, struct tuple *before, struct tuple *after);

/* A connection whose destination is translated. */
struct translation {
	struct tuple before, after;
};

struct translations {
	struct translation *at; /* sorted by `before` */
	struct translation *by_after; /* the same, sorted by `after` */
	size_t n;
};

/* Reads all translated connections; none if the kernel tracks no connections. Returns 0 or
 * -ENOMEM. */
int translations_read(struct translations *translations);
void translations_free(struct translations *translations);

/* Find a connection by one of its tuples. NULL: there is no such connection. */
const struct translation *translations_before(const struct translations *translations,
					      const struct tuple *before);
const struct translation *translations_after(const struct translations *translations,
					     const struct tuple *after);

/* Asks the kernel for one connection by its tuple `after`. Returns false if there is no such
 * connection. *handle (of nfct_open()) is opened if it is NULL, and kept for the next
 * question. */
bool translation_ask(struct nfct_handle **handle, const struct tuple *after, struct tuple *before);
void translation_close(struct nfct_handle *handle); /* NULL is fine */

#endif
