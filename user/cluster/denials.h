/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports a node's denials to the cluster: packets that policy denied, or would deny but for audit.
 * The follower looks at the drops that the kernel keeps (node/observe/drops.h) every DENIALS_MS.
 *
 * A denial is reported as an Event on the pod that the policy selects, and as a line for log
 * shippers. Packets of one pod, direction, peer segment, protocol and port are one denial: it is
 * reported at once, and again after DENIALS_AGAIN_MS if there were more packets, with their number.
 * A node reports DENIALS_BURST denials at once, then one a second, and in a large cluster fewer, so
 * that all nodes together write no more than some 50 Events a second. A pod has DENIALS_OF_POD
 * denials at a time, a node DENIALS_MAX. What is beyond is counted only.
 *
 * A look costs the same however many packets are denied, and nobody who reads the Events or the
 * lines is waited for by the kernel's programs.
 */
#ifndef BULKHEAD_CLUSTER_DENIALS_H
#define BULKHEAD_CLUSTER_DENIALS_H

#include "api/api.h"
#include "cluster/event_objects.h"
#include "node/observe/event_monitor.h"

#define DENIALS_MS 2000
#define DENIALS_AGAIN_MS 600000
#define DENIALS_BURST 20
#define DENIALS_OF_POD 16
#define DENIALS_MAX 1024
#define DENIALS_POLICIES 200 /* policies with metrics of their own */

/* Prints a denial as a line. @count: the packets denied so far. */
typedef void denials_print(struct monitor *monitor, const struct bh_event *event, const char *node,
			   uint64_t count);

struct denials_options {
	const char *pin, *node;
	const uint32_t *nodes; /* of the cluster */
	struct events *events;
	denials_print *print;
	/* Returns the Pod object "namespace/name" of this node; NULL: there is none. */
	struct json_object *(*pod)(void *data, const char *key);
	void *data;
};

struct denials;

/* The strings of @options must outlive the denials. NULL: no memory. */
struct denials *denials_open(struct api *api, const struct denials_options *options,
			     struct diag *diag);
void denials_close(struct denials *denials); /* NULL is fine */

void denials_metrics(const struct denials *denials, FILE *to);

#endif
