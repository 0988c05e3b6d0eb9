/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sequences' node: a network namespace with the pods' interfaces, a bridge and an uplink, and
 * the programs, loaded as the command loads them. Functions return 0 or -errno, and print errors.
 */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_NODE_H
#define BULKHEAD_SELFTESTS_SEQUENCE_NODE_H

#include "selftests/lib/sequence.h"

struct sequence_node;

/* @pin: a folder of bpffs for it alone. The parent process has to be in another network namespace.
 */
int sequence_node_open(const char *pin, struct sequence_node **node);
void sequence_node_close(struct sequence_node *node);

/* Loads POLICIES policies, so that a commit can activate any. It takes as long as a load. */
int sequence_node_load(struct sequence_node *node, const struct policies *policies);

/*
 * Begins a sequence: the first policy is active, GUEST is there as itself, nothing is remembered.
 * @full: the table is full of closed connections of somebody else's surplus, and has no room: each
 * new connection has to replace one of these.
 */
int sequence_node_begin(struct sequence_node *node, bool full);

int sequence_node_flip(struct sequence_node *node, unsigned int which);
int sequence_node_leave(struct sequence_node *node);
int sequence_node_arrive(struct sequence_node *node, unsigned int role);

/* Ages all state that the programs keep. */
int sequence_node_wait(struct sequence_node *node, unsigned int seconds);

/* Returns 0 unless the garbage collector runs in a table that sequence_node_begin() has filled. */
int sequence_node_rests(const struct sequence_node *node);

/* Gives the next frames to another of the CPUs that the process may use. */
int sequence_node_next_cpu(struct sequence_node *node);

/* Returns 1 if the program at that hook passes the frame, else 0. Two CPUs may call it at once. */
int sequence_node_run(const struct sequence_node *node, const struct step *step,
		      const struct sight *sight);

/* Returns the reason for which the programs have counted a packet since the last call. */
const char *sequence_node_reason(struct sequence_node *node);

/* Prints the policies as INI, to explain a failure. */
/* @policies: struct policies */
void sequence_node_print_policies(FILE *to, const void *policies);

#endif
