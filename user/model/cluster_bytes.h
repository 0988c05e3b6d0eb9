/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that an object takes in a process that keeps it, so that a namespace may have a budget
 * of it. The figure is made of the object itself: the same for a file that a person wrote and for
 * the API server's object.
 */
#ifndef BULKHEAD_MODEL_CLUSTER_BYTES_H
#define BULKHEAD_MODEL_CLUSTER_BYTES_H

#include "model/cluster_service.h"

/* What the objects of a namespace may take together. */
#define NAMESPACE_BYTES (64u << 20)
/* While the objects of all namespaces together take more than ROOM_BYTES, none gets more than
 * PART_BYTES. */
#define ROOM_BYTES (256u << 20)
#define PART_BYTES (4u << 20)
/* An object that takes less is small: it counts, and always finds room. */
#define SMALL_BYTES 4096

/* Return the bytes that an object takes: twice its members, since it is kept as text and as what
 * was read of the text, and the text is no longer than that; and what a compile makes of its
 * strings. */
size_t policy_bytes(const struct policy_object *policy);
size_t service_bytes(const struct service *service);
size_t slice_bytes(const struct slice *slice);
size_t pod_bytes(const struct endpoint *pod);

#endif
