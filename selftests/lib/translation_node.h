/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node of lib/translation.h: a network namespace whose interfaces are taps, with nftables'
 * translation and the programs, loaded as the command loads them. A packet's whole way through the
 * node is one write to a tap. Functions return 0 or -errno, and print errors.
 */
#ifndef BULKHEAD_SELFTESTS_TRANSLATION_NODE_H
#define BULKHEAD_SELFTESTS_TRANSLATION_NODE_H

#include "selftests/lib/translation.h"

struct translation_node;

/* @pin: a folder of bpffs for it alone. */
int translation_node_open(const char *pin, struct translation_node **node);
void translation_node_close(struct translation_node *node);

int translation_node_load(struct translation_node *node, const struct policies *policy);

/* Deletes what the kernel's conntrack has of the packets since the last call. */
int translation_node_forget(struct translation_node *node);

/* Clears the programs' tables of connections. */
int translation_node_lose(struct translation_node *node);

/* Sends a packet from an actor. Each runs on another CPU. */
int translation_node_send(struct translation_node *node, const struct step *step,
			  const struct sending *sending, struct fate *fate);

/* Returns the reason for which the programs have counted a packet since the last call. */
const char *translation_node_reason(struct translation_node *node);

/* @policies: struct policies */
void translation_node_print_policies(FILE *to, const void *policies);

#endif
