/* SPDX-License-Identifier: GPL-2.0-only */
/* The readers of the kinds of objects, from a tree into the cluster. */
#ifndef BULKHEAD_INPUT_OBJECTS_H
#define BULKHEAD_INPUT_OBJECTS_H

#include "input/reader.h"

/* What stands above the spec of every object. */
struct object {
	struct tree *root;
	const struct tree *metadata;
	const char *ns, *name;
};

/* A whole object of any kind, or a list of them. */
void object_read(struct reader *reader, struct tree *root);

/* The `spec` of a policy: @policy has its kind, name, and where it stands. */
void network_policy_read(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy);
void admin_policy_read(struct reader *reader, const struct tree *spec,
		       struct policy_object *policy);

void service_read(struct reader *reader, const struct object *object);
void slice_read(struct reader *reader, const struct object *object);
void slice_v1beta1_read(struct reader *reader, const struct object *object);
/* The name of the port @port of a Service or EndpointSlice, interned; NULL: it has none. */
const char *reader_service_port(struct reader *reader, const struct tree *port);
/* An address that the API server lets a Service or a backend have; else false, reported. */
bool reader_unicast(struct reader *reader, const struct tree *node, struct address *address);

#endif
