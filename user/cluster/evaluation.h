/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates which NetworkPolicies of a namespace are over a budget (compile/budget.h), in a process
 * of its own beside the engine's work: the same program by the name EVALUATION_NAME. It reads all
 * objects from a file in memory that the engine has written, compiles them, writes the names of the
 * policies that were set aside, and ends. It has limits of memory and processor time of its own. A
 * process that was forked without a program of its own would need none of the objects written; but
 * each page that the engine writes to meanwhile would be copied, which makes the engine's next
 * compile several times as long where page faults are slow.
 */
#ifndef BULKHEAD_CLUSTER_EVALUATION_H
#define BULKHEAD_CLUSTER_EVALUATION_H

#include <stdbool.h>
#include <stdio.h>

#include "api/api.h"
#include "policy/asides.h"

#define EVALUATION_NAME "bulkhead-evaluate"

/* Returns true if an engine called this process by that name. */
bool evaluation_is_called(int argc, char **argv);
/* Evaluates for the engine. Returns the exit status. */
int evaluation_main(char **argv);

struct evaluation_ops {
	/* Writes the text of each object, JSON, and a NUL behind each. Returns 0 or -errno. */
	int (*write)(void *data, FILE *to);
	/* The evaluation has ended. @over: the NetworkPolicies that were set aside; NULL: none.
	 * @why: why there is no answer; NULL: there is one. @ms: processor time of its process. */
	void (*done)(void *data, const struct asides *over, const char *why, uint64_t ms);
};

struct evaluation;

/* @api NULL: there is no loop, and each evaluation is made in this process. NULL: no memory. */
struct evaluation *evaluation_open(struct api *api, const struct evaluation_ops *ops, void *data);
void evaluation_close(struct evaluation *evaluation); /* NULL is fine */

/* Begins to evaluate a namespace, while no evaluation runs. Calls write() at once, and done()
 * later; or at once if the process does not start, or if there is no loop. */
void evaluation_begin(struct evaluation *evaluation, const char *ns);
bool evaluation_runs(const struct evaluation *evaluation);
void evaluation_stop(struct evaluation *evaluation); /* done() is not called any more */

#endif
