/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections as the kernel's conntrack knows them: how the initiator's packets
 * look before the node translates their addresses, and after. So what went to a
 * Service's address is found again at the backend.
 */
#ifndef BULKHEAD_NODE_TRANSLATED_H
#define BULKHEAD_NODE_TRANSLATED_H

#include <linux/types.h>

#include "model/cluster.h"

struct tuple {
	struct address source, destination;
	__be16 source_port, destination_port;
	uint8_t protocol;
	uint8_t pad; /* 0: tuples are compared as bytes */
};

struct nf_conntrack;
void tuples_read(const struct nf_conntrack *ct, struct tuple *before, struct tuple *after);

/* A connection whose destination is translated. */
struct translation {
	struct tuple before, after;
};

struct translations {
	struct translation *at; /* by `before` */
	struct translation *by_after; /* the same, by `after` */
	size_t n;
};

/* All that there are: none where the kernel tracks nothing, or cannot. Returns 0 or -ENOMEM. */
int translations_read(struct translations *translations);
void translations_free(struct translations *translations);

/* NULL: there is none. */
const struct translation *translations_before(const struct translations *translations,
					      const struct tuple *before);
const struct translation *translations_after(const struct translations *translations,
					     const struct tuple *after);

/* Asks the kernel for one connection by `after`: its translation; false: there is none. @handle: of
 * nfct_open(), kept for the next question; where it is NULL it is opened. */
struct nfct_handle;
bool translation_ask(struct nfct_handle **handle, const struct tuple *after, struct tuple *before);
void translation_close(struct nfct_handle *handle); /* NULL is fine */

#endif
