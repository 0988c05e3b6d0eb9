/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads objects of each kind from a tree into the cluster. */
#ifndef BULKHEAD_INPUT_OBJECT_H
#define BULKHEAD_INPUT_OBJECT_H

#include "input/input.h"
#include "input/tree_reader.h"

/* What the reader makes of an object that an API server has taken and that cannot be used
 * (unusable.c). */
enum aside_way {
	ASIDE_NEVER, /* it is refused */
	ASIDE_POLICY, /* a policy that isolates what the object selects */
	ASIDE_NAMESPACE, /* a namespace that isolates its pods */
	ASIDE_SERVICE, /* a Service whose addresses have no backends */
	ASIDE_LEFT_OUT,
};

/* The fields that every object has beside its spec. */
struct object {
	struct tree *root;
	enum aside_way aside;
	enum policy_kind policy; /* of a policy */
	const struct tree *metadata;
	const char *ns, *name;
};

/* Reads a whole object of any kind, or a list of objects. */
void object_read(struct reader *reader, struct tree *root);

/* What was read before an object. */
struct aside_mark {
	size_t n_policies, n_services, n_slices;
};

/* unusable.c: says for messages what becomes of the object. */
const char *aside_meaning(enum aside_way way);
struct aside_mark aside_mark(const struct cluster *cluster);
/* Returns true if the object can be set aside in that way. Reports nothing. An admin policy cannot
 * if its faults leave open what it selects. @kind: of a policy. */
bool aside_is_possible(struct reader *reader, const struct object *object, enum aside_way way);
/* Sets the last object that was read aside, which is possible. */
void aside_object(struct reader *reader, const struct object *object,
		  const struct aside_mark *before);

/* Adds a policy that has the object's kind, name and line, and no spec yet. */
struct policy_object *object_add_policy(struct reader *reader, const struct object *object);

/* Reads the `spec` of a policy. The caller has set @policy's kind, name and line. */
void network_policy_read(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy);
void admin_policy_read(struct reader *reader, const struct tree *spec,
		       struct policy_object *policy);

/* Returns true if an API server has accepted the object: it alone gives UIDs. */
bool object_is_accepted(const struct object *object);

/* Returns true if the annotation asks for audit. Audit passes packets that policy would drop, so
 * only its own word turns it on; another one than "true" and "false" is reported. */
bool object_audit(struct reader *reader, const struct object *object);

/* Reads an address of a pod (@object), or with NULL of any object. Returns false, reported, for one
 * that no pod can have; a Pod that an API server has taken is left without that address, with a
 * warning. */
bool object_read_address(struct reader *reader, const struct object *object,
			 const struct tree *node, struct address *address);
/* Reads the ports of a pod's containers. */
void object_read_ports(struct reader *reader, const struct tree *spec, struct endpoint *endpoint);

void service_read(struct reader *reader, const struct object *object);
/* Adds a Service with those of its addresses that can be read, without backends: left out, they
 * would be addresses outside, which a CIDR may allow. */
void service_read_closed(struct reader *reader, const struct object *object);
void slice_read(struct reader *reader, const struct object *object);
void slice_v1beta1_read(struct reader *reader, const struct object *object);
/* Returns the name of port @port of a Service or EndpointSlice, interned; NULL: it has none. */
const char *reader_service_port(struct reader *reader, const struct tree *port);
/* Reads an address that the API server allows for a Service or backend. Returns false, reported,
 * for any other. */
bool reader_unicast(struct reader *reader, const struct tree *node, struct address *address);

#endif
