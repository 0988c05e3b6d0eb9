// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "maps/rule_hit.h"
#include "node/kernel/active_map.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/rcu.h"
#include "node/kernel/rule_hits.h"
#include "node/kernel/table.h"

#define RULE_HITS "rule_hits"
#define PLACES PROGRAM_PLACE RULE_HITS

/* Opens the map at a place. Returns an fd or -errno; -ENOENT: there is none. */
static int open_at(int places, uint32_t place)
{
	uint32_t id;
	int fd = bpf_map_lookup_elem(places, &place, &id) ? -1 : bpf_map_get_fd_by_id(id);

	return fd < 0 ? -errno : fd;
}

int rule_hits_have_room(const struct node_handle *handle, uint32_t rules, bool *room)
{
	SCOPED_FD int places = pins_get(handle, PLACES);
	SCOPED_FD int hits =
		places < 0 ? places : open_at(places, (rules - !!rules) >> BH_RULE_HITS_SHIFT);

	*room = hits >= 0;
	/* an older build has no places: its programs are replaced */
	return hits >= 0 || hits == -ENOENT
		       ? 0
		       : node_fail(handle, hits, "cannot open %s/" RULE_HITS, handle->pin);
}

static int add(struct node_handle *handle, int places, int like, uint32_t place)
{
	SCOPED_FD int there = open_at(places, place);
	SCOPED_FD int hits = there == -ENOENT ? active_map_like(like, BH_RULE_HITS) : -1;

	if (there != -ENOENT)
		return there < 0 ? there : 0;
	if (hits < 0)
		return hits;
	rcu_expedite(handle);
	handle->writes++;
	return bpf_map_update_elem(places, &place, &hits, BPF_ANY) ? -errno : 0;
}

int rule_hits_add(struct node_handle *handle, uint32_t rules)
{
	SCOPED_FD int places = pins_get(handle, PLACES);
	SCOPED_FD int like = pins_get(handle, RULE_HITS);
	int error = places < 0 ? places : like < 0 ? like : 0;

	for (uint32_t place = 0; !error && (uint64_t)place << BH_RULE_HITS_SHIFT < rules; place++)
		error = add(handle, places, like, place);
	return error ? node_fail(handle, error, "cannot make a map for the hits of %u rules", rules)
		     : 0;
}

static int each_of(int hits, uint32_t place, int (*visit)(void *, const void *, const void *),
		   void *data)
{
	CLEANUP(table_free) struct table have = {};
	int status;

	table_init(&have, sizeof(uint32_t),
		   sizeof(struct bh_rule_hit) * libbpf_num_possible_cpus());
	status = table_read(&have, hits);
	for (uint32_t i = 0; !status && i < have.n; i++) {
		const uint32_t rule = place << BH_RULE_HITS_SHIFT | i;

		status = visit(data, &rule, table_value(&have, i));
	}
	return status;
}

int rule_hits_each(const struct node_handle *handle,
		   int (*visit)(void *data, const void *rule, const void *hits), void *data)
{
	SCOPED_FD int places = pins_get(handle, PLACES);
	int status = places < 0 ? places : 0;

	for (uint32_t place = 0; !status && place < BH_RULE_HITS_PLACES; place++) {
		SCOPED_FD int hits = open_at(places, place);

		if (hits == -ENOENT)
			break;
		status = hits < 0 ? hits : each_of(hits, place, visit, data);
	}
	return status;
}
