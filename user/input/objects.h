/* SPDX-License-Identifier: GPL-2.0-only */
/* The readers of the kinds of objects, from a tree into the cluster. */
#ifndef BULKHEAD_INPUT_OBJECTS_H
#define BULKHEAD_INPUT_OBJECTS_H

#include "input/reader.h"

/* A whole object of any kind, or a list of them. */
void object_read(struct reader *reader, struct tree *root);

/* The `spec` of a policy: @policy has its kind, name, and where it stands. */
void network_policy_read(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy);
void admin_policy_read(struct reader *reader, const struct tree *spec,
		       struct policy_object *policy);

#endif
