// SPDX-License-Identifier: GPL-2.0-only
/* Finds namespaces whose objects take more of the engine's memory than a namespace may have. */
#include "compile/lint_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/cluster_bytes.h"

/* What the objects of a namespace take, and the largest of them. */
struct room {
	size_t bytes, most;
	const char *name;
	const struct where *where;
};

static void count(struct room *rooms, const struct lint *lint, const char *ns, const char *name,
		  const struct where *where, size_t bytes)
{
	struct room *room;

	if (!ns)
		return;
	room = &rooms[cluster_namespace(lint->cluster, ns) - lint->cluster->namespaces];
	room->bytes += bytes;
	if (bytes <= room->most)
		return;
	room->most = bytes;
	room->name = name;
	room->where = where;
}

static void count_all(struct room *rooms, const struct lint *lint)
{
	const struct cluster *cluster = lint->cluster;

	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *at = &cluster->policies[i];

		count(rooms, lint, at->ns_name, at->name, &at->where, policy_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *at = &cluster->services[i];

		count(rooms, lint, at->ns_name, at->name, &at->where, service_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_slices; i++) {
		const struct slice *at = &cluster->slices[i];

		count(rooms, lint, at->ns_name, at->name, &at->where, slice_bytes(at));
	}
}

void lint_room(struct lint *lint)
{
	const struct cluster *cluster = lint->cluster;
	struct room *rooms = grow_zeroed(cluster->n_namespaces, sizeof(*rooms));
	char name[600];

	count_all(rooms, lint);
	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		const struct room *room = &rooms[i];

		if (room->bytes <= NAMESPACE_BYTES)
			continue;
		snprintf(name, sizeof(name), "%s/%s", cluster->namespaces[i].name, room->name);
		lint_find(
			lint, "over-budget", room->where, name,
			"the objects of its namespace take %zu KiB of an engine's memory, and the "
			"limit is %u: the engine refuses what finds no room; this one takes most, "
			"%zu KiB",
			room->bytes >> 10, NAMESPACE_BYTES >> 10, room->most >> 10);
	}
	free(rooms);
}
