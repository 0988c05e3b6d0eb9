// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies of the administrator that no policy can stand in for: what they select cannot be read.
 * This process keeps their last accepted version if it has seen one. Another engine may have seen
 * one before this one led: that version is in the last policy, as it was given.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "model/arrays.h"
#include "policy/given.h"

/* Returns true if the object is a policy that counts as the last policy has it. */
static bool is_former(const struct object_state *kept)
{
	return kept->early && kept->refused && !kept->text;
}

static const struct collection *collection_of(const struct objects *objects, enum policy_kind kind)
{
	static const char *const names[] = {
		[POLICY_ADMIN] = "AdminNetworkPolicy",
		[POLICY_CLUSTER] = "ClusterNetworkPolicy",
		[POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy",
	};

	for (size_t i = 0; i < N_KINDS && kind >= POLICY_ADMIN; i++)
		if (!strcmp(object_kinds[i].name, names[kind]))
			return &objects->collections[i];
	return NULL;
}

static bool has_former(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry =
			object_kinds[i].policy ? objects->collections[i].kept->head : NULL;

		for (; entry; entry = entry->next)
			if (is_former(lh_entry_v(entry)))
				return true;
	}
	return false;
}

struct cluster *former_open(const struct objects *objects, const struct policy *base)
{
	struct cluster *former;

	if (!base || !has_former(objects))
		return NULL;
	former = check_memory(malloc(sizeof(*former)));
	cluster_init_from(objects->read, former);
	given_fill(policy_lazy(base), former);
	return former;
}

void former_add(const struct objects *objects, const struct cluster *former,
		struct cluster *cluster)
{
	for (size_t i = 0; former && i < former->n_policies; i++) {
		const struct policy_object *policy = &former->policies[i];
		const struct collection *collection = collection_of(objects, policy->kind);
		struct lh_entry *entry =
			collection ? lh_table_lookup_entry(collection->kept, policy->name) : NULL;
		struct policy_object *added;

		if (!entry || !is_former(lh_entry_v(entry)))
			continue;
		added = cluster_add_policy(cluster);
		*added = *policy;
		added->accepted = true;
	}
}

void former_close(struct cluster *former)
{
	if (former)
		cluster_free(former);
	free(former);
}
