/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A load while it is planned: the state that the planners of its parts share. With a delta, each
 * part reads the records that the delta names, and the entries of these records. Without one, all
 * records of the policy may differ, and each part compares the maps as a whole. Each part returns
 * 0; COMPARE_ALL, not reported; or another -errno.
 */
#ifndef BULKHEAD_NODE_PLANNER_H
#define BULKHEAD_NODE_PLANNER_H

#include <errno.h>

#include "policy/delta.h"
#include "policy/lazy_policy.h"
#include "model/cluster.h"
#include "maps/added.h"
#include "node/local/local_entries.h"
#include "node/plan/change.h"

/* The maps are not as the base policy has them, which a whole load repairs. change/load_delta.c
 * also returns it before a part is planned: for options, for what the delta changes of the node
 * itself (name, uplinks, resolvers), and where another policy is staged, whose entries a repair
 * deletes.
 */
#define COMPARE_ALL (-EOPNOTSUPP)

/* What becomes of an active entry that must not change while it is active (planner_parts.h), and
 * that is not as the policy says. */
enum planner_wrong {
	WRONG_REFUSE, /* the policy is another one than the active: nothing is planned */
	WRONG_CORRECT, /* the policy is the active one: the entry is put right */
	WRONG_LIST, /* the entry stays, and is listed as `wrong` of its change_map */
};

struct planner {
	struct node_handle *handle;
	const struct delta *delta; /* the records that may differ; NULL: all of them */
	/* With a delta, without the node's extension, and read as far as needed. */
	const struct lazy_policy *old; /* NULL without a delta */
	const struct lazy_policy *new;
	uint32_t ids; /* bh_blob.ids of @new */
	const struct local *local; /* this node; NULL with a delta, which leaves it as it is */
	struct image *have; /* the maps as a whole; NULL with a delta */
	/* all segments, and the matchers that place endpoints in them, stay as they are */
	bool keeps_segments;
	struct delta *extension; /* the node's extension of @new; owned; NULL: none */
	bool extension_ends; /* with a delta: the extension that the node has is deleted */
	/* added endpoints for which the node is to make an extension are listed here, and
	 * COMPARE_ALL is returned; NULL: such endpoints are isolated */
	struct cluster *needy;
	/* by index of the segments of @new, then of those that this node adds; owned */
	uint32_t *slots;
	uint32_t n_slots;
	const uint32_t *staged; /* with a delta: the slots of @new if it is staged, else NULL */
	uint32_t ports_end; /* of bh_blob */
	struct table added; /* bh_added */
	/* of these, the records to delete: the policy takes their endpoints over, or they are gone
	 */
	struct table added_gone;
	/* by address of added endpoints that stay and may move to other segments: their assignment
	 * words then */
	struct table added_words;
	struct table concerned; /* addresses that come, move or go */
	bool concerns_node; /* the delta concerns endpoints of this node */
	struct policy outside; /* of @new, by planner_outside() */
	bool outside_read;
	struct table domains, by_domain; /* the entries of these maps that @new has */
	struct table by_id; /* the slots of the segments in the maps; empty: not read yet */
	enum planner_wrong wrong;
	struct change *change;
};

/* Makes a planner that compares the whole policy, with @ids of bh_blob, with the maps @have. */
void planner_init(struct planner *plan, struct node_handle *handle, const struct policy *policy,
		  uint32_t ids, struct image *have, struct change *change);
void planner_free(struct planner *plan);

/* Calls @part with the maps @plan->have in place of the kernel's: all of them are read already.
 * Returns 0 or -errno, reported. */
int planner_compare(struct planner *plan, int (*part)(struct planner *plan));

/* Returns the tables of the new policy about addresses of no endpoint (lazy_read_outside()), read
 * at the first call: most deltas need none of them, and a cluster has many Services. */
const struct policy *planner_outside(struct planner *plan);

/* Returns an ID in the other form, of a policy or of the maps (@ids: bh_blob.ids); 0 stays 0. */
static inline uint32_t planner_other_id(uint32_t ids, uint32_t id)
{
	return id ? id ^ ids : 0;
}

/* Returns an ID of the new policy as the maps have it; 0 stays 0. */
static inline uint32_t planner_id(const struct planner *plan, uint32_t id)
{
	return planner_other_id(plan->ids, id);
}

/* Plans one record of a policy. Returns 0 or -errno. */
typedef int planner_visit(void *what, const struct lazy_policy *policy, uint32_t record);

/*
 * Calls @visit_new for each record of the new policy that may differ. With a delta, also calls
 * @visit_old for each record that the new policy may lack: those of the old policy that the delta
 * deletes or replaces, and those of the node's extension if it goes. Stops at the first error, and
 * returns it.
 */
int planner_walk(struct planner *plan, enum blob_table table, planner_visit *visit_new,
		 planner_visit *visit_old, void *what);

/* Returns true if a record of the new policy may differ from all of the old policy's. */
static inline bool planner_is_fresh(const struct planner *plan, enum blob_table table,
				    uint32_t record)
{
	return !plan->delta || delta_is_new(&plan->delta->tables[table], record);
}

/* Decides by @plan->wrong. Returns 0: the entry stays; -ENOENT: it is to be put as if the maps
 * lacked it; or another -errno, -EINVAL reported. */
int planner_differs(struct planner *plan, enum node_map_id map, const void *key);

/* Finds the slot in which the maps have the segment of that ID of the new policy. *slot: the slot
 * to try first. Returns 0, -ENOENT or another -errno. */
int planner_find_segment(struct planner *plan, uint32_t id, uint32_t *slot);

/* Finds the slot of a segment of the new policy. Returns 0, or COMPARE_ALL: the maps lack it. */
int planner_slot(struct planner *plan, uint32_t segment, uint32_t *slot);

/* With a delta, returns what it says of a table. */
static inline const struct delta_table *planner_table(const struct planner *plan,
						      enum blob_table table)
{
	return &plan->delta->tables[table];
}

/* Returns true if an endpoint of one of the two policies is on this node. */
bool planner_is_here(const struct planner *plan, const struct lazy_policy *policy,
		     uint32_t endpoint);

/* Returns the endpoint, by its index in the new policy, that the old policy gives an address of the
 * new one; UINT32_MAX: the old policy lacks the address, or the new one lacks that endpoint. */
uint32_t planner_owner_before(const struct planner *plan, uint32_t address);

#endif
