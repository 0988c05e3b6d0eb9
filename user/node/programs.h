/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF programs and their maps: made and pinned by the first load, found by
 * their pins ever after.
 */
#ifndef BULKHEAD_NODE_PROGRAMS_H
#define BULKHEAD_NODE_PROGRAMS_H

#include "node/inside.h"
#include "node/local.h"

/* What is pinned besides the maps. */
#define PROGRAM_INGRESS "tc_from_endpoint"
#define PROGRAM_EGRESS "tc_to_endpoint"
#define PROGRAM_UPLINK "tc_uplink" /* where XDP has no place */
#define PROGRAM_ASSIGN "assign"

/*
 * Makes and pins the maps, with room for @policy and its successors, and then the programs.
 * Nothing is attached. Returns 0 or -errno, reported.
 */
int programs_create(struct host *host, const struct policy *policy, const struct local *local);

/* Lets each map of @object be the pinned one of its name, if there is one. Returns 0 or -errno,
 * reported. */
struct bpf_object;
int programs_share_maps(struct host *host, struct bpf_object *object);

/* What the kernel calls HZ: the programs count in jiffies. */
uint64_t programs_jiffies_per_second(void);

/* Whether a program works on the maps of this pin folder. @id 0 is none. */
bool programs_is_ours(const struct host *host, uint32_t id);

#endif
