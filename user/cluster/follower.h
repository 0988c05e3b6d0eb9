/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node's follower, shared by its files: follower.c takes the steps, follower_report.c reports,
 * follower_pods.c keeps this node's pods active, follower_newcomers.c guards interfaces that come
 * up, follower_metrics.c tells metrics and readiness.
 */
#ifndef BULKHEAD_CLUSTER_FOLLOWER_H
#define BULKHEAD_CLUSTER_FOLLOWER_H

#include "api/faults.h"
#include "cluster/count.h"
#include "cluster/denials.h"
#include "cluster/event_objects.h"
#include "cluster/followed_node.h"
#include "cluster/networks.h"
#include "cluster/resting.h"
#include "cluster/rollout.h"
#include "cluster/store.h"
#include "node/observe/newcomers.h"

#define FOLLOWER_RETRY_MS 1000

enum step { STEP_NONE, STEP_LOAD, STEP_ACTIVATE, STEP_STAGE };
#define STEPS (STEP_STAGE + 1)

struct follower {
	const struct follow_options *options;
	struct diag *diag;
	struct api *api;
	struct serve *serve; /* NULL: metrics are not served */
	struct events *events;
	struct denials *denials; /* NULL: denials are not reported */
	struct networks *networks; /* NULL: the CNI plugin is not kept in networks */

	/* Steps */
	struct api_watch *status_watch;
	struct api_look_back *look_back;
	struct store_status wants;
	struct followed_node node;
	struct followed_node_state has;
	bool synced, fetching;
	bool whole; /* a delta was refused: fetch the newest whole policy and the deltas since */
	uint32_t lacks; /* generation that cannot be made from the store; 0: none */
	uint64_t told_newer; /* checksum of the policy that tell_newer() warned of; 0: none */
	struct api_timer wait;
	void (*go_on)(struct follower *follower); /* takes the next step, if there is one */
	uint64_t changes, failed; /* for metrics */
	struct histogram took[STEPS];
	int error; /* with `once`: the error of the last change */
	char *message; /* the same in words, for reports; NULL: none */
	char *said; /* the first error message of the last change; NULL: none */
	struct opened {
		uint64_t generation;
		char *line; /* NULL: none */
	} opened; /* a load has opened pods: an Event follows the next report */

	/* Reports */
	struct api_timer heartbeat;
	bool exists; /* this node's NodePolicyStatus exists */
	bool reporting, report_again; /* a report is being sent; another must follow */
	struct api_faults report_faults;
	bool asks_why; /* the next report's answer says why the last one was refused */
	unsigned int report_backoff; /* ms; 0: the last report succeeded */
	/* generations in the last report that was sent, and in the last that arrived */
	uint32_t sent[2], reported[2];
	/* status.leftAddresses of the report that is being sent; NULL: the report has none */
	struct json_object *left;
	struct json_object *conditions; /* as last sent; NULL: nothing was sent */
	bool told; /* the server has `conditions` */

	/* This node's pods */
	struct api_watch *pods_watch;
	bool pods_synced;
	/* by key: the members that are read of this node's Pods, as last seen */
	struct lh_table *pods;
	struct resting *resting; /* NULL: no records are written */
	/* a pod could not be put active: it is tried again when another one goes */
	bool pod_refused;

	/* Newcomers */
	struct api_timer look;
	int look_error; /* the error of the last look */
	struct newcomers
		newcomers; /* when the follower looked last; the addresses of the last load */
	/* between loads for one thing that comes up, and between those for other addresses */
	struct look_pause {
		char what[80]; /* what the last load was for; "": it was long ago */
		uint64_t until; /* ms: no load for the same before */
		unsigned int backoff; /* ms: how long that is */
	} come_up, moved;
	uint64_t look_next; /* ms: no load for anything that comes up before */
	bool load_failed; /* the last load failed, and the message says so */
	/* loads for pods that wait for a segment; when the next may begin; ms that it waits after
	 * one that fails, 0: none failed; the policy that is active for the last of these pods */
	struct api_timer segments;
	uint64_t segments_next;
	unsigned int segments_backoff;
	uint32_t waits_in;
};

/* follower_report.c */

void follower_warn(struct follower *follower, const char *what, const char *why);

/* Returns the policy that this node has installed. A policy that is staged, and that the cluster
 * does not want any more, is none: the store may be that of an older time, and have another policy
 * with the same generation. */
uint32_t follower_installed(const struct follower *follower);

/* The errors that are printed between the two calls. The first one becomes `said`. */
struct heard {
	FILE *before;
	char *text;
	size_t size;
};

void follower_hear(struct follower *follower, struct heard *heard);
void follower_end_hearing(struct follower *follower, struct heard *heard);

/* Notes the error of a change, for the report and for `once`, with `said` if there is one, which is
 * used up. @error 0: there is none. */
void follower_set_message(struct follower *follower, int error, const char *what);

/* Returns the engine's limit in seconds; the default if PolicyStatus has no limit, or one that
 * no engine takes. */
unsigned int follower_limit(const struct follower *follower);

/* Reports what the node has: now, or when the report that is being sent has arrived. */
void follower_report(struct follower *follower);

/* Reports within a time that grows with the cluster, or together with an earlier report. */
void follower_report_spread(struct follower *follower);

/* If the limit has become shorter, the next report may be due too late: sets an earlier time. */
void follower_report_in_time(struct follower *follower);

/* A load has opened pods: an Event with @line follows the next report. @data: the follower. */
void follower_opened(void *data, uint64_t generation, const char *line);

/* follower_pods.c */

/* Watches this node's pods. Returns 0 or -errno. */
int follower_pods_begin(struct follower *follower);

/* Puts all pods active again after a change of policy that concerns this node's endpoints: the
 * policy may be older than the pods. */
void follower_put_pods(struct follower *follower);

/* Looks at the addresses that have left pods of this node. @data: the follower. */
void follower_look_at_addresses(void *data);

/* Returns the pod as last seen; NULL: there is none. @data: the follower; @key: its namespace and
 * name. */
struct json_object *follower_pod(void *data, const char *key);

/* follower_newcomers.c */

/* Looks every few seconds from now on. */
void follower_newcomers_begin(struct follower *follower);

/* A pod waits for a segment, since a policy is staged: if that stays so, gives the pod its segment
 * after a second. */
void follower_pod_waits(struct follower *follower);

/* follower_metrics.c */

void follower_metrics(void *data, FILE *to);

/* Returns what a follower lacks to be ready; NULL: nothing. */
const char *follower_missing(void *data);

#endif
