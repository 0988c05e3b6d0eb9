/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads objects of each kind from a tree into the cluster. */
#ifndef BULKHEAD_INPUT_OBJECT_H
#define BULKHEAD_INPUT_OBJECT_H

#include "input/reader.h"

/* The fields that every object has beside its spec. */
struct object {
	struct tree *root;
	const struct tree *metadata;
	const char *ns, *name;
};

/* Reads a whole object of any kind, or a list of objects. */
void object_read(struct reader *reader, struct tree *root);

/* Reads the `spec` of a policy. The caller has set @policy's kind, name and line. */
void network_policy_read(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy);
void admin_policy_read(struct reader *reader, const struct tree *spec,
		       struct policy_object *policy);

/* Reads the ports of a pod's containers. */
void object_read_ports(struct reader *reader, const struct tree *spec, struct endpoint *endpoint);

void service_read(struct reader *reader, const struct object *object);
void slice_read(struct reader *reader, const struct object *object);
void slice_v1beta1_read(struct reader *reader, const struct object *object);
/* Returns the name of port @port of a Service or EndpointSlice, interned; NULL: it has none. */
const char *reader_service_port(struct reader *reader, const struct tree *port);
/* Reads an address that the API server allows for a Service or backend. Returns false, reported,
 * for any other. */
bool reader_unicast(struct reader *reader, const struct tree *node, struct address *address);

#endif
