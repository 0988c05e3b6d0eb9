/* SPDX-License-Identifier: GPL-2.0-only */
/* What a change of one endpoint begins with. */
#ifndef BULKHEAD_NODE_BEGIN_H
#define BULKHEAD_NODE_BEGIN_H

#include "maps/added.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct beginning {
	struct table ifaces; /* of bh_ifaces, those that are there */
	const struct bh_added *wanted; /* the endpoint that is asked to go; NULL: none */
	bool went; /* it went with its interface */
};

void beginning_end(struct beginning *beginning);

/* Makes the node ready for a change on top of a policy that is whole: ends what a killed command
 * began, and takes off who was on interfaces that are gone. Returns 0 or -errno, reported. */
int begin(struct node_handle *host, struct beginning *beginning);

#endif
