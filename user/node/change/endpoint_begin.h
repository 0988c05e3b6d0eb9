/* SPDX-License-Identifier: GPL-2.0-only */
/* The first part of every change of one endpoint. */
#ifndef BULKHEAD_NODE_ENDPOINT_BEGIN_H
#define BULKHEAD_NODE_ENDPOINT_BEGIN_H

#include "maps/added.h"
#include "node/plan/own_interfaces.h"

struct outcome;

struct beginning {
	struct table ifaces; /* entries of bh_ifaces whose interfaces exist */
	const struct bh_added *wanted; /* the endpoint that is to be removed; NULL: none */
	bool went; /* that endpoint went with its interface */
	struct own_interfaces own; /* the interfaces that endpoints leave */
	bool patient; /* leaves interfaces without an endpoint to the next removal */
};

void beginning_end(struct beginning *beginning);

/* Makes the node ready for a change: completes or undoes the change of a killed command, and
 * removes endpoints whose interfaces are gone. The entries that removed endpoints left of such
 * interfaces stay until the next removal, so that this change does not wait two grace periods for
 * them. Returns 0 or -errno, reported. */
int begin(struct node_handle *handle, struct beginning *beginning);

/* As begin(), but looks only once with a handle, up to a failed change: it asks for each interface
 * of the node, and a follower changes all of a node's endpoints in a row. */
int begin_once(struct node_handle *handle);

/* As begin(), for a change that removes endpoints: @change also removes the endpoints whose
 * interfaces are gone, which saves two grace periods. The caller calls begin_finish() once all
 * endpoints have left @beginning->own. */
int begin_with(struct node_handle *handle, struct beginning *beginning, struct change *change);

/* Makes the room that the extension needs, which @change may change, and applies @change. @outcome:
 * NULL, or as of apply(). */
int endpoint_apply(struct node_handle *handle, struct change *change, struct outcome *outcome);

/* Plans the interfaces that endpoints left and the extension that the endpoints needed, and applies
 * the change as endpoint_apply() does. */
int begin_finish(struct node_handle *handle, struct beginning *beginning, struct change *change,
		 struct outcome *outcome);

#endif
