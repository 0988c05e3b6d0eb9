/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A change to this node, as data: planners make one and write nothing, and
 * apply.c alone carries one out. change_order says in which order.
 */
#ifndef BULKHEAD_NODE_CHANGE_H
#define BULKHEAD_NODE_CHANGE_H

#include "maps/iface.h"
#include "node/kernel/maps.h"
#include "node/kernel/programs.h"

/* What becomes of the entries of one map. */
struct change_map {
	struct table put; /* added, or replaced, before the flip */
	struct table store; /* by key: struct bh_assign, into an entry that is there */
	struct table late; /* replaced after the flip */
	struct table gone; /* deleted after the flip; of an array: the empty entries */
};

/* An interface's role changes. */
struct change_turn {
	struct bh_iface from, to;
};

struct delta;

/* The policy to be pinned. */
struct change_policy {
	struct bh_blob header; /* length 0: none is pinned */
	void *bytes;
	const struct delta *delta; /* in place of bytes: what it changes of the one in force */
	uint32_t *slots; /* by its segments */
};

struct local;

struct change {
	const char *name; /* of what is done, for whoever is told */
	bool flips; /* to the generation after the one in force */
	bool flips_again; /* after what is late: what was judged meanwhile is judged again */
	struct change_map maps[N_NODE_MAPS];
	/* By index of an interface. */
	struct table attach; /* those that lack programs: their flags */
	struct table turn, late_turn; /* struct change_turn */
	struct table detach; /* no value */
	struct table forget; /* addresses whose connections go: no value */
	size_t wanted[N_NODE_MAPS]; /* entries that each map needs room for */
	bool clear; /* nothing is in force, all is detached, and the pin folder emptied */
	struct table cleared; /* for a rehearsal: by ifindex, what carries programs */
	bool remove_folder;
	bool anew; /* the pin folder gets new programs, and maps of `room` */
	bool replace; /* the programs in force by this command's, and the maps by those of `room` */
	struct room room;
	bool finish; /* what a killed command began to replace is replaced */
	bool drop_staged; /* the policy that is staged is forgotten */
	struct change_policy policy;
	bool settle; /* only the policy in force, and a staged one, stay pinned */
	const struct policy *adopt; /* the connections of this policy's endpoints, NULL: none */
	const struct local *local; /* where they are */
	uint32_t desired_policy,
		desired_endpoint; /* anew: what is asked for, by policies' counts */
	bool may_go; /* an endpoint's interface that is gone meanwhile is no error */
};

void change_init(struct change *change, const char *name);
void change_free(struct change *change);

/* Wants room for so many entries of a map; of several wishes the largest counts. */
void change_want(struct change *change, enum node_map_id map, size_t entries);

/*
 * An interface's entry is replaced after the flip. Where the endpoint at it gets other addresses,
 * the entry has, from before the flip on until then, one that is in force and one that is to come:
 * whatever the generation, the hooks find the endpoint's policy by one of the two.
 */
int change_replace_iface(struct change *change, const uint32_t *ifindex,
			 const struct bh_iface *from, const struct bh_iface *to);

enum change_phase {
	PHASE_PREPARE, /* nothing that is in force changes */
	PHASE_STAGE, /* can be undone, and counts from the flip on */
	PHASE_FLIP,
	PHASE_COLLECT, /* after a grace period; the next command would do it, too */
};

enum change_act {
	ACT_CLEAR,
	ACT_REMOVE_FOLDER,
	ACT_ANEW,
	ACT_LOAD, /* the programs that are to replace those in force */
	ACT_REPLACE,
	ACT_FINISH,
	ACT_DROP_STAGED,
	ACT_PUT,
	ACT_STORE,
	ACT_TURN,
	ACT_ATTACH_OTHERS,
	ACT_ATTACH,
	ACT_ADOPT,
	ACT_PIN,
	ACT_FLIP,
	ACT_RECORD, /* what no program reads */
	ACT_DETACH,
	ACT_REPLACE_LATE,
	ACT_TURN_LATE,
	ACT_DELETE,
	ACT_FLIP_AGAIN,
	ACT_FORGET,
	ACT_SETTLE,
	N_CHANGE_ACTS
};

struct change_step {
	enum change_phase phase;
	enum change_act act;
	enum node_map_id map; /* of acts on maps */
	bool undone; /* by itself where a later step fails; the others by the repair that follows */
};

extern const struct change_step change_order[];
extern const size_t n_change_order;

/* How much there is to do in a step: entries, interfaces, or 1. */
size_t change_count(const struct change *change, const struct change_step *step);

/* Of an interface that is neither an endpoint's nor an uplink. */
static inline bool change_is_others(uint32_t flags)
{
	return flags & (BH_IFACE_PORT | BH_IFACE_OTHER);
}

/* Whether there is nothing to do at all. */
bool change_is_empty(const struct change *change);

/* Does to an image in memory what apply.c does to the maps, as far as the step before @end. */
int change_imagine(const struct change *change, struct image *image, uint32_t *generation,
		   size_t end);

#endif
