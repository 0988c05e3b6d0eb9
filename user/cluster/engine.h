/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the engine's files: its life and what it hears (engine_run.c), steps (engine_steps.c),
 * nodes (engine_nodes.c), conditions (engine_status.c), objects that wait (engine_waits.c), metrics
 * (engine_metrics.c). */
#ifndef BULKHEAD_CLUSTER_ENGINE_H
#define BULKHEAD_CLUSTER_ENGINE_H

#include <json-c/linkhash.h>
#include <stdio.h>

#include "cluster/rollout.h"
#include "cluster/event_objects.h"
#include "cluster/lease.h"
#include "cluster/objects.h"
#include "cluster/serve.h"
#include "cluster/store.h"
#include "model/histogram.h"

/* What the engine has written as the condition Ready into a node's status. */
enum mark {
	MARK_NONE, /* it is the node's own */
	MARK_NO_PROGRESS,
	MARK_SILENT,
};

/* The last report of a node. */
struct report {
	uint32_t policy, endpoint;
	uint32_t most[2]; /* the newest of each that the node ever had */
	uint32_t had[2]; /* what was wanted of each when the node last had what is wanted */
	bool returned; /* the node was silent, and has lacked what is wanted since it is back */
	char *heartbeat;
	uint64_t seen; /* ms: when the heartbeat last changed */
	/* ms: when the node's policy and endpoints last changed, or were last those that are wanted
	 */
	uint64_t policy_since, endpoint_since;
	/* 0: the node counts. Else it has made no progress, and counts again once its endpoints are
	 * in this policy. */
	uint32_t lacks;
	/* above 0: the node made no progress once before, and has not kept a rollout's pace
	 * since */
	uint8_t again;
	/* grows by two with each step of a rollout that took the node more than a limit, and falls
	 * by one with each other */
	uint8_t slow;
	uint64_t lacked; /* ms: when the engine last fetched a policy for the node; 0: never */
	enum mark marked; /* the node's status has this mark */
	bool is_back; /* MARK_SILENT: the heartbeat has changed since */
	struct json_object *status; /* the node's; NULL: none */
	char *version; /* resourceVersion of the object with `status`; NULL: no memory */
	bool deleted; /* that object is deleted; the node counts until it is silent */
};

#define REPORT_LACKS_ANY UINT32_MAX /* `lacks` where another engine has marked the node */

/* Counts for metrics. Times are in ms. */
struct counts {
	uint64_t compiles, compile_time;
	/* finished rollouts, and their time, each from the first change of its batch on */
	uint64_t rollouts, rollout_time;
	struct histogram compile_took, rollout_took;
	/* the last rollouts that this engine began, each in the place of its generation */
	struct rollout {
		uint32_t generation;
		uint64_t since; /* 0: it has ended */
	} begun[4];
};

/* Returns the place of a rollout: one that begins, and up to two before it that have not ended. */
#define ROLLOUT_PLACE(counts, generation) (&(counts)->begun[(generation) % 4])

struct engine {
	const struct engine_options *options;
	struct diag *diag;
	struct api *api;
	struct lease *lease;
	struct objects *objects;
	struct events *events;
	struct serve *serve; /* NULL: metrics are not served */
	struct counts counts;
	struct api_watch *status_watch, *nodes_watch, *generations_watch;
	struct api_look_back *look_back;
	struct lh_table *nodes; /* name -> struct report */
	struct lh_table *generations; /* names of PolicyGenerations; no values */
	struct store_status status;
	bool status_synced, nodes_synced, generations_synced;
	/* the policy that status.policy names; NULL: not fetched, or there is none */
	struct policy *policy;
	/* the policy that is being published, or is and waits for the rollout before it; NULL: none
	 */
	struct policy *next;
	char *next_delta; /* the delta that leads to `next`, for PolicyStatus; NULL: none */
	struct store_since since, next_since; /* of `policy` and `next` */
	uint32_t fetched; /* the generation that is being fetched, or was last */
	bool verify; /* a node cannot make the policy from the store: fetch the policy */
	/* the generations that were fetched last because of `verify`: one that nodes install, and
	 * one that endpoints may be in */
	uint32_t verified[2];
	uint64_t listens; /* ms: since when this engine leads, and nodes have its limit */
	uint64_t told; /* ms: when this engine wrote its limit last; 0: not since it leads */
	bool lost; /* the stored policy is gone, and the next one replaces it */
	/* a stored generation that may be an ended engine's, and the next one of this engine; 0:
	 * none */
	uint32_t adopts;
	/* Ends a step whose request is answered, and begins the next. */
	api_done *step_done;
	void (*go_on)(struct engine *engine); /* takes the next step, if there is one */
	bool busy; /* a step is running */
	unsigned int backoff; /* ms; 0: PolicyStatus was written since the last failure */
	uint64_t retry_at; /* ms: no step before */
	/* the newest policy in which more than Pods and EndpointSlices has changed */
	uint32_t policies_in;
	bool dirty; /* objects have changed since the last compile */
	uint64_t dirty_since; /* ms */
	uint64_t changed; /* ms: when an object last changed */
	struct api_timer batch; /* ends the batch */
	struct api_timer
		wait; /* ends the wait for a silent node, or for a status that another wrote */
	struct api_timer retry; /* ends the wait after a failure */
	struct api_timer soon; /* ends the wait for further reports */
	struct api_timer look; /* for objects that wait for their turn */
	bool due; /* `batch` has ended */
	struct api_timer observe; /* ends the wait for the next write of the status */
	uint64_t observed; /* ms: the last write of PolicyStatus */
	uint64_t written[2]; /* the oldest generations of the nodes, as written into the status */
	uint32_t written_nodes, written_refused, written_aside, written_silent, written_late;
	uint64_t written_faults; /* objects_faults() of the message that is written */
	char written_message[560]; /* of the condition ObjectsAccepted */
	bool written_waits; /* which tells of objects that wait */
	size_t written_unread; /* and of so many kinds that cannot be read */
	uint64_t mark_at; /* ms: no node is marked before, since a mark was refused */
	bool written_complete; /* the status says that the rollout has ended */
	struct json_object *conditions; /* of PolicyStatus, as last seen or written; NULL: none */
};

/* How far the nodes are for which the rollout waits (rollout.h). */
struct barrier {
	/* the oldest generations that one of them has; UINT32_MAX: no node counts */
	uint32_t policy, endpoint;
	uint32_t nodes; /* nodes that the rollout waits for */
	/* a node that has yet to install the newest policy, or, once endpoints may be in it, to
	 * activate it; NULL: none */
	const char *behind;
	uint32_t n_behind;
	/* a node of the cluster that reported once and is silent, and for which the rollout does
	 * not wait; NULL: none */
	const char *silent;
	uint32_t n_silent;
	/* a node of the cluster that reports without progress (engine_check_progress()), and for
	 * which the rollout does not wait; NULL: none */
	const char *late;
	uint32_t n_late;
	uint32_t late_lacks; /* the policy that `late` lacks */
	bool none_counts; /* there are nodes, and none counts: the rollout stops */
	/* ms: when the first of the nodes will have been silent, or without progress, for too
	 * long */
	uint64_t next;
};

/* Takes the next step, if there is one, and none runs. */
void engine_step(struct engine *engine);
/* Ends a step whose request is answered, and takes the next. @data: the engine. */
api_done engine_step_done;
/* Logs a message of the engine. @why: NULL: no more is known. */
void engine_say(struct engine *engine, enum diag_level level, const char *what, const char *why);
/* The same about an object. */
void engine_say_about(struct engine *engine, enum diag_level level, struct json_object *object,
		      const char *what, const char *why);
/* Gives up the policy that is being published. The objects are compiled anew. */
void engine_drop_next(struct engine *engine);
/* Notes a PolicyStatus, unless a later version is known. Returns 0 or -ENOMEM. */
int engine_read_status(struct engine *engine, struct json_object *object);
/* Returns true if this engine knows a later version of the status: the answer to a request may
 * overtake what the watch tells, and the other way round. Versions of one resource are numbers that
 * grow (KEP-5504). */
bool engine_is_overtaken(const struct engine *engine, struct json_object *object);
/* Returns true if the engine has listed all that its steps depend on. */
bool engine_is_synced(const struct engine *engine);
/* Returns true if the engine has fetched the stored policy since a node lacked it last. */
bool engine_is_verified(const struct engine *engine, uint32_t generation);

/* Returns how far the nodes are for which the rollout waits, and which nodes are late or silent. */
struct barrier engine_barrier(const struct engine *engine);

/* Returns the table of reports; NULL: no memory. */
struct lh_table *engine_reports_new(void);
/* Notes a NodePolicyStatus. Returns true if it may move a rollout: a heartbeat alone does not. */
bool engine_report(struct engine *engine, const char *name, struct json_object *object);

/* A NodePolicyStatus is deleted. While the Node is there, its follower goes on, and makes another
 * with its next report: until then, the node counts as it did. */
void engine_report_deleted(struct engine *engine, const char *name);

/* A node says that it lacks a policy. Returns true if the engine is to fetch the policy: a node
 * that lies would have the engine fetch each one. */
bool engine_may_fetch_for(struct engine *engine, const char *name);
/* Notes that the store was damaged, as a node had said: the engine may fetch for each node again.
 */
void engine_forget_lacks(struct engine *engine);

/* This engine begins to lead: takes over which nodes make no progress, as their statuses say. */
void engine_read_marks(struct engine *engine);

/* Notes which nodes had what was wanted until now: these generations. */
void engine_wants_more(struct engine *engine, uint32_t policy, uint32_t endpoint);
/* Counts nodes out that make no progress, and counts nodes in that have caught up. */
void engine_check_progress(struct engine *engine);
/* Marks a node whose status has another mark than it should. @only: with this mark alone;
 * MARK_NONE: with any, or with none. Returns true if a step has begun. */
bool engine_mark(struct engine *engine, enum mark only);

/* Objects whose last change waits for its turn. */
struct waits {
	size_t n, n_late; /* `late`: for so long that somebody is told */
	/* the one that waits longest; valid if there is one */
	uint64_t since; /* ms */
	time_t date;
	char key[512];
};
struct waits engine_waits(const struct engine *engine);
/* Tells of objects that wait, from now on. */
void engine_watch_waits(struct engine *engine);

/* Returns true if the condition ObjectsAccepted, as written, names the objects as they are now. */
bool engine_faults_written(struct engine *engine);

/* Returns the conditions of PolicyStatus, and writes an Event for each condition that has
 * turned. */
struct json_object *engine_conditions(struct engine *engine, const struct barrier *barrier);

/* Writes the metrics. @data: the engine. */
void engine_metrics(void *data, FILE *to);

#endif
