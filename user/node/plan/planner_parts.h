/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a planned load, in the order of plan_parts() (compare_maps.h), each in the file of
 * its name; endpoint_entries.h is the part between segments and prefixes. Unless said otherwise, a
 * function returns as planner.h says.
 */
#ifndef BULKHEAD_NODE_PLANNER_PARTS_H
#define BULKHEAD_NODE_PLANNER_PARTS_H

#include "node/plan/planner.h"

/*
 * segment_entries.c: the entries of the maps whose entries never change while they are active:
 * segments, pairs, port lists, names. A segment that the maps have keeps its slot, and a port list
 * its place. All others get free slots and places.
 */

/*
 * Makes @plan->change put the entries that the maps lack, with the room for them, and sets
 * @plan->slots and @plan->ports_end. With a delta, also deletes the entries that the new policy
 * lacks. Returns 0 or -errno: -EINVAL, reported, if the maps have other entries than the policy,
 * and @plan->wrong refuses these.
 */
int segment_entries_plan(struct planner *plan);

/* Plans the entries of the staged policy into @change, which is not to be applied: they stay.
 * *staged: the policy, to be freed; NULL: none is staged. *later: its planner. Returns 0 or -errno,
 * reported. */
int segment_entries_plan_staged(struct node_handle *handle, struct image *have,
				struct policy **staged, struct change *change,
				struct planner *later);

/* Without a delta: deletes the entries of the maps that neither policy has. @later: the planner of
 * the staged policy after its segment_entries_plan(), or NULL. Returns 0 or -errno, reported. */
int segment_entries_collect(struct planner *plan, struct planner *later);

/* Returns true if a map is one of those whose entries never change while they are active. */
bool segment_entries_has_map(enum node_map_id map);

/* Returns true if @change deletes entries of these maps. */
bool segment_entries_deletes(const struct change *change);

/* Returns true if @change puts entries into these maps, which lack a part of the policy then. */
bool segment_entries_puts(const struct change *change);

/*
 * domain_entries.c: the entries of bh_domains and bh_by_domain (maps/domain.h), which it keeps in
 * @plan->domains and @plan->by_domain, too. All names of a policy are compared: they are few. With
 * a delta, also deletes the entries that the new policy lacks. segment_entries_plan() calls it once
 * segments have their slots.
 */
int domain_entries_plan(struct planner *plan);

/*
 * prefix_entries.c: the entries of bh_prefixes, which are the policy's CIDRs, this node's addresses
 * and Services' addresses, and of bh_tunnels, the nodes. If a delta changes any of these, all of
 * the policy's prefixes are compared with those of the maps; with a delta, the node's own addresses
 * are those of the last load.
 */
int prefix_entries_plan(struct planner *plan);

/* Returns true if an address that is no endpoint's may move to another segment. */
bool prefix_entries_may_move(const struct planner *plan);

/*
 * service_entries.c: the entries of bh_services (maps/service.h). A key that is added, changed or
 * deleted gets an entry that counts from the next generation on, so nothing changes before the
 * commit. Plans the entries of Services that the new policy adds, changes or deletes, or whose
 * backends are in another segment by it. Reads all of the policy's Services, but only the endpoints
 * that are such backends.
 */
int service_entries_plan(struct planner *plan);

/* For an endpoint that is added or gets other labels, with its assignment word @place: finds the
 * Services of its namespace that may lead to it from now on. If the word differs from that of such
 * a Service's backends, @change makes the Service's entry say that the backends differ: calls are
 * then evaluated at the backend alone. Returns 0 or -ENOMEM. */
int service_entries_mark_differing(const struct node_handle *handle, const char *ns, bool ipv4,
				   uint64_t place, struct change *change);

/* Makes @change clear the values that a killed command stored for a generation that never came, and
 * delete the entries that are not active. @have: the map. Returns 0 or -ENOMEM. */
int service_entries_repair(struct node_handle *handle, const struct table *have,
			   struct change *change);

/* resolvers.c: the resolvers (maps/dns.h) of a delta that changes the Service of the cluster's DNS,
 * or a resolver's backends. */
int resolvers_plan(struct planner *plan);

/*
 * interfaces.c, without a delta: the entries of the maps about interfaces, routes and addresses of
 * this node (LOCAL_MAP in maps/maps.def). Compares all of them with those of @plan->local. Does not
 * check which interfaces lack programs. Returns 0 or -errno: -EINVAL reported.
 */
int interfaces_plan(struct planner *plan);

/* Plans one of these maps: makes @change bring its entries from @have to @want, whose entries keep
 * the flags that the loader sets for itself. Deletes only entries for which @is_concerned returns
 * true; NULL: any. Both tables are sorted. Returns 0 or -ENOMEM. */
int interfaces_plan_map(struct change *change, enum node_map_id map, const struct table *have,
			const struct table *want, table_filter *is_concerned, const void *what);

/* Returns true if an interface gets another role. */
static inline bool interfaces_change_role(const struct bh_iface *from, const struct bh_iface *to)
{
	return (from->flags ^ to->flags) & BH_IFACE_ROLES;
}

#endif
