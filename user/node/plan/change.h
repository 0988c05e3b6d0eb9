/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A change of this node as data. Planners make a change and write nothing. Only change/apply.c
 * carries a change out, in the order of change_order.
 */
#ifndef BULKHEAD_NODE_CHANGE_H
#define BULKHEAD_NODE_CHANGE_H

#include "maps/iface.h"
#include "node/kernel/maps.h"
#include "node/kernel/programs.h"

/* The changes of one map's entries. */
struct change_map {
	struct table put; /* added or replaced before the commit */
	struct table store; /* by key, a struct bh_assign: stored into an existing entry */
	struct table late; /* replaced after the commit */
	struct table deleted; /* deleted after the commit; of an array: emptied */
	struct table wrong; /* without values: stay, although they are not as the policy says */
};

/* An interface that gets another role. */
struct change_role {
	struct bh_iface from, to;
};

struct delta;

/* The policy that is pinned. */
struct change_policy {
	struct bh_blob header; /* length 0: no policy is pinned */
	/* the blob, owned; or the policy whose blob is pinned, owned; or both NULL */
	void *bytes;
	struct policy *whole;
	const struct delta *delta; /* the delta from the active policy, pinned if both are NULL */
	uint32_t *slots; /* by index of the policy's segments */
	struct delta *local; /* the node's extension of the policy; owned; NULL: none */
	bool stays; /* the policy stays, and `local` changes: `delta` is NULL or changes nothing */
	struct delta *nothing; /* owned: a delta that changes nothing */
};

struct local;

struct change {
	const char *name; /* the change's name, for dry runs */
	bool commits; /* the change commits to the next generation */
	/* the change commits again after `late`, so that flows evaluated since the commit are
	 * evaluated again */
	bool commits_again;
	/* entries of interfaces change before the commit: none of them is an active endpoint's */
	bool early;
	struct change_map maps[N_NODE_MAPS];
	/* Keys are indexes of interfaces. */
	/* interfaces that lack programs, with their flags: endpoints' and uplinks, and others */
	struct table attach, attach_others;
	/* interfaces that get another role before the commit, and after it: struct change_role */
	struct table role, late_role;
	struct table detach; /* without values */
	struct table quarantine; /* interfaces that lose their endpoints, with their new entries */
	struct table forget; /* addresses whose connections are removed; without values */
	/* addresses with their interfaces (uint32_t), sorted: connections that they had at other
	 * interfaces are removed before the commit */
	struct table forget_former;
	size_t wanted[N_NODE_MAPS]; /* entries for which each map needs room */
	bool clear; /* put no active policy, detach all programs, empty the pin folder */
	struct table cleared; /* for a dry run: interfaces that carry programs */
	bool remove_folder;
	bool anew; /* fill the pin folder with new programs, and maps of `capacity` */
	/* another's program runs before ours: replace the programs, so that ours are first */
	bool advance;
	bool replace; /* replace the active programs by this command's, maps as `capacity` says */
	struct capacity capacity;
	bool finish; /* complete the replacement that a killed command began */
	bool drop_staged; /* forget the staged policy */
	struct change_policy policy;
	bool complete; /* remove the pins of policies that are neither active nor staged */
	/* take over connections of this policy's endpoints; NULL: of none */
	const struct policy *adopt;
	const struct local *local; /* where those endpoints are */
	/* the policies' generations that this load wants, for a pin folder that `anew` makes */
	uint32_t desired_policy, desired_endpoint;
	bool may_go; /* the interface of an endpoint may be gone, which is no error */
};

void change_init(struct change *change, const char *name);
void change_free(struct change *change);

/* Asks for room in a map. The largest of several requests counts. */
void change_want(struct change *change, enum node_map_id map, size_t entries);

/* Attaches programs to an interface whose entry has these flags. */
int change_attach(struct change *change, const uint32_t *ifindex, uint32_t flags);

/*
 * Replaces an interface's entry after the commit. If the endpoint's addresses change, the entry
 * gets one old and one new address before the commit, and keeps both until it is replaced. So the
 * hooks find the endpoint's policy by one of the two at any generation.
 */
int change_replace_iface(struct change *change, const uint32_t *ifindex,
			 const struct bh_iface *from, const struct bh_iface *to);

enum change_phase {
	PHASE_PREPARE, /* changes nothing that is active */
	PHASE_STAGE, /* can be undone; takes effect at the commit */
	PHASE_COMMIT,
	PHASE_COLLECT, /* after a grace period; the next command can complete this phase */
};

/* The acts of steps, each with its word in dry runs. */
#define CHANGE_ACTS(ACT)                                                 \
	ACT(CLEAR, "clear")                                              \
	ACT(REMOVE_FOLDER, "remove-folder")                              \
	ACT(ANEW, "make-folder")                                         \
	ACT(LOAD, "load-programs") /* loads the new programs */          \
	ACT(REPLACE, "replace-programs")                                 \
	ACT(GROW, "replace-maps")                                        \
	ACT(FINISH, "finish-programs")                                   \
	ACT(DROP_STAGED, "drop-staged")                                  \
	ACT(FORGET_FORMER, "forget-connections")                         \
	ACT(PUT, "put")                                                  \
	ACT(STORE, "store")                                              \
	ACT(SET_ROLE, "turn")                                            \
	ACT(ATTACH_OTHERS, "attach")                                     \
	ACT(ATTACH, "attach")                                            \
	ACT(ADOPT, "adopt-connections")                                  \
	ACT(PIN, "pin-policy")                                           \
	ACT(COMMIT, "flip")                                              \
	ACT(RECORD, "record") /* writes entries that no program reads */ \
	ACT(QUARANTINE, "replace")                                       \
	ACT(DETACH, "detach")                                            \
	ACT(REPLACE_LATE, "replace")                                     \
	ACT(SET_ROLE_LATE, "turn")                                       \
	ACT(DELETE, "delete")                                            \
	ACT(COMMIT_AGAIN, "flip")                                        \
	ACT(FORGET, "forget-connections")                                \
	ACT(COMPLETE, "settle-policies")

#define CHANGE_ACT(name, word) ACT_##name,
enum change_act { CHANGE_ACTS(CHANGE_ACT) N_CHANGE_ACTS };
#undef CHANGE_ACT

struct change_step {
	enum change_phase phase;
	enum change_act act;
	enum node_map_id map; /* for acts on maps */
	/* undo_step() undoes this step when a later step fails; the repair that follows undoes
	 * other steps */
	bool undone;
};

extern const struct change_step change_order[];
extern const size_t n_change_order;

/* Returns the table whose keys a step concerns, and whose values it writes; NULL: none. */
const struct table *change_table(const struct change *change, const struct change_step *step);

/* Returns the number of entries or interfaces that a step concerns, else 1; 0: the step is
 * skipped. */
size_t change_count(const struct change *change, const struct change_step *step);

/* Returns true if an interface is neither an endpoint's nor an uplink. */
static inline bool change_is_others(uint32_t flags)
{
	return flags & (BH_IFACE_PORT | BH_IFACE_OTHER);
}

/* Returns true if the change does nothing. */
bool change_is_empty(const struct change *change);

/* Changes an image in memory as change/apply.c changes the maps, up to the step before @end. */
int change_simulate(const struct change *change, struct image *image, uint32_t *generation,
		    size_t end);

#endif
