/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node of the sequences: a network namespace of the test's own with the interfaces of the pods,
 * a bridge and an uplink, and the programs, loaded as the command loads them. Functions return 0 or
 * -errno, and print what went wrong.
 */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_NODE_H
#define BULKHEAD_SELFTESTS_SEQUENCE_NODE_H

#include "selftests/lib/sequence.h"

struct sequence_node;

/* @pin: a folder of bpffs for it alone. The parent process has to be in another network namespace.
 */
int sequence_node_open(const char *pin, struct sequence_node **node);
void sequence_node_close(struct sequence_node *node);

/* Loads POLICIES of them, so that each may be put in force. It takes a load's time. */
int sequence_node_load(struct sequence_node *node, const struct policies *policies);

/* As a sequence begins: the first one in force, GUEST there as itself, nothing remembered. */
int sequence_node_begin(struct sequence_node *node);

int sequence_node_flip(struct sequence_node *node, unsigned int which);
int sequence_node_leave(struct sequence_node *node);
int sequence_node_arrive(struct sequence_node *node, unsigned int role);

/* Makes everything that the programs remember older. */
int sequence_node_wait(struct sequence_node *node, unsigned int seconds);

/* 1: the program at that hook lets the frame through, 0: not. */
int sequence_node_run(struct sequence_node *node, const struct step *step,
		      const struct sight *sight);

/* What the programs have counted since this was last asked. */
const char *sequence_node_reason(struct sequence_node *node);

/* The policies in the language of the inputs, for a reader of a failure. */
void sequence_node_print_policies(FILE *to, const struct policies *policies);

#endif
