// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "maps/dns.h"
#include "maps/endpoint.h"
#include "maps/pair.h"
#include "maps/ports.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "node/kernel/domain_maps.h"
#include "node/kernel/program.h"
#include "maps/conntrack.h"
#include "node/kernel/attach.h"
#include "node/kernel/maps.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/rule_hits.h"
#include "node/kernel/table.h"
#include "node/observe/live.h"
#include "node/plan/active_endpoints.h"

struct live {
	struct node_options options;
	struct node_handle *handle;
	uint32_t generation;
	bool elsewhere; /* its interfaces are in another network namespace */
};

void live_close(struct live *live)
{
	if (!live)
		return;
	node_close(live->handle);
	free(live);
}

static void cleanup_live(struct live **live)
{
	live_close(*live);
}

int live_open(const char *pin, struct diag *diag, struct live **live)
{
	CLEANUP(cleanup_live) struct live *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	new->options.pin = pin;
	error = node_look(&new->options, diag, &new->handle);
	if (error)
		return error;
	new->generation = node_generation(new->handle);
	new->elsewhere = attach_is_elsewhere(new->handle);
	*live = new->handle->policy ? TAKE_PTR(new) : NULL;
	return 0;
}

bool live_interface(const struct live *live, const struct address *address, char name[IF_NAMESIZE])
{
	struct bh_endpoint entry;

	return !live->elsewhere && !maps_lookup(live->handle, MAP_endpoints, address, &entry) &&
	       entry.ifindex && if_indextoname(entry.ifindex, name);
}

uint64_t live_generation(const struct live *live)
{
	return live->generation;
}

const struct policy *live_policy(const struct live *live)
{
	return pinned_whole(live->handle);
}

/* Converts a segment's ID in the maps to the ID in the policy, and the other way round. */
static uint32_t segment_id(const struct live *live, uint32_t id)
{
	return id ^ live->handle->blob.ids;
}

/* Returns false for a missing entry, and for a map that cannot be read: the callers deny in both
 * cases. */
static bool look_up(const struct live *live, enum node_map_id map, const void *key, void *value)
{
	return !bpf_map_lookup_elem(live->handle->maps[map], key, value);
}

static uint64_t assignment(const struct live *live, const __u64 words[2])
{
	return bh_assignment_at(words[0], words[1], live->generation);
}

/* Reads the segment in a slot. Returns false if the slot is empty. */
static bool read_segment(const struct live *live, uint32_t slot, struct policy_segment *segment)
{
	struct bh_segment record;

	if (!look_up(live, MAP_segments, &slot, &record))
		return false;
	*segment = (struct policy_segment){
		.id = segment_id(live, record.id),
		.flags = record.flags,
		.peer_own = record.peer_own,
		.peer_common = record.peer_common,
	};
	memcpy(segment->own, record.own, sizeof(segment->own));
	memcpy(segment->common, record.common, sizeof(segment->common));
	memcpy(segment->fallback, record.fallback, sizeof(segment->fallback));
	return true;
}

static bool live_resolve(const void *data, const struct address *address,
			 struct policy_segment *segment, uint32_t *variation)
{
	const struct live *live = data;
	struct bh_prefix_key key = {.length = 128};
	struct bh_endpoint endpoint;
	struct bh_prefix prefix;
	uint64_t word = 0;
	uint32_t slot;

	memcpy(&key.addr, address, sizeof(key.addr));
	if (look_up(live, MAP_endpoints, &key.addr, &endpoint))
		word = assignment(live, endpoint.assignment);
	else if (look_up(live, MAP_prefixes, &key, &prefix))
		word = assignment(live, prefix.assignment);
	if (bh_assignment_is_cover(word))
		word &= ~bh_assignment(0, 0, BH_VARIATION_COVER);
	slot = bh_assignment_slot(word);
	if (!word || !read_segment(live, slot, segment))
		return false;
	*variation = bh_assignment_variation(word);
	return true;
}

static bool live_pair(const void *data, uint32_t subject, uint32_t peer, struct bh_ports_ref *ports)
{
	struct bh_pair_key key = {subject, peer};
	struct bh_pair value;

	if (!look_up(data, MAP_pairs, &key, &value))
		return false;
	*ports = value.ports;
	return true;
}

struct live_pairs {
	struct policy_pair *at;
	size_t n, capacity;
};

static int note_pair(void *data, const void *key, const void *value)
{
	struct live_pairs *pairs = data;
	const struct bh_pair_key *ends = key;
	const struct bh_pair *pair = value;
	struct policy_pair *at = pairs->at;

	if (pairs->n == pairs->capacity) {
		pairs->capacity = 2 * pairs->capacity + 1024;
		at = reallocarray(at, pairs->capacity, sizeof(*at));
		if (!at)
			return -ENOMEM;
		pairs->at = at;
	}
	pairs->at[pairs->n++] = (struct policy_pair){ends->subject, ends->peer, pair->ports};
	return 0;
}

static int live_pairs(const void *data, struct policy_pair **pairs, size_t *n)
{
	struct live_pairs found = {0};
	int error = live_each(data, "pairs", note_pair, &found);

	if (error) {
		free(found.at);
		return error;
	}
	*pairs = found.at;
	*n = found.n;
	return 0;
}

/* Returns a resolution's ID in the other form, of the policy or of the maps; 0 stays 0. */
static uint32_t other_resolution(const struct live *live, uint32_t id)
{
	return id ? id ^ live->handle->blob.ids : 0;
}

static uint32_t live_resolution(const void *data, uint32_t segment, uint32_t variation)
{
	struct bh_variation_key key = {segment_id(data, segment), variation};
	struct bh_variation value;

	return look_up(data, MAP_variations, &key, &value)
		       ? other_resolution(data, value.resolution)
		       : 0;
}

static bool live_named(const void *data, uint32_t list, uint32_t resolution,
		       struct bh_ports_ref *ports)
{
	struct bh_named_key key = {list, other_resolution(data, resolution)};
	struct bh_named value;

	if (!look_up(data, MAP_named, &key, &value))
		return false;
	*ports = value.ports;
	return true;
}

static bool live_name(const void *data, const char *name, const struct policy_segment *subject,
		      struct policy_segment *segment)
{
	const struct live *live = data;
	struct bh_domain_key key = {.class = subject->own[EGRESS]};
	struct bh_domain_segment value;
	struct bh_domain unused;

	if (domains_hash(live->handle, name, &key.domain, &unused))
		return false;
	if (!look_up(live, MAP_by_domain, &key, &value)) {
		key.class = subject->common[EGRESS];
		if (!look_up(live, MAP_by_domain, &key, &value))
			return false;
	}
	return read_segment(live, value.slot, segment) && segment_id(live, value.id) == segment->id;
}

static struct bh_interval live_interval(const void *data, uint32_t at)
{
	struct bh_interval interval;

	return look_up(data, MAP_ports, &at, &interval) ? interval : (struct bh_interval){};
}

struct evaluate_source live_evaluate(const struct live *live)
{
	return (struct evaluate_source){
		.places = live,
		.data = live,
		.resolve = live_resolve,
		.pair = live_pair,
		.pairs = live_pairs,
		.resolution = live_resolution,
		.named = live_named,
		.domain = live_name,
		.interval = live_interval,
	};
}

int live_cpus(void)
{
	return libbpf_num_possible_cpus();
}

int live_each(const struct live *live, const char *map,
	      int (*visit)(void *data, const void *key, const void *value), void *data)
{
	SCOPED_FD int fd = pins_get(live->handle, map);
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FREE void *key = NULL, *next = NULL, *value = NULL;
	void *last = NULL;
	int status = 0;

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	key = malloc(info.key_size + 1);
	next = malloc(info.key_size + 1);
	value = malloc(table_value_size(&info) + 1);
	if (!key || !next || !value)
		return -ENOMEM;
	while (!status && !bpf_map_get_next_key(fd, last, next)) {
		if (!bpf_map_lookup_elem(fd, next, value))
			status = visit(data, next, value);
		memcpy(key, next, info.key_size);
		last = key;
	}
	return status;
}

int live_hits(const struct live *live, int (*visit)(void *data, const void *key, const void *value),
	      void *data)
{
	return rule_hits_each(live->handle, visit, data);
}

int live_domain(struct live *live, const char *text, uint64_t *domain)
{
	struct bh_domain name;
	__u64 hash;
	int error = domains_hash(live->handle, text, &hash, &name);

	*domain = hash;
	return error;
}

uint32_t live_ifindex(const struct live *live, const struct address *address)
{
	struct bh_endpoint entry;

	return look_up(live, MAP_endpoints, address, &entry) ? entry.ifindex : 0;
}

bool live_learned(const struct live *live, uint32_t ifindex, const struct address *address,
		  struct bh_learned *learned)
{
	SCOPED_FD int fd = pins_get(live->handle, "learned");
	struct bh_learned_key key = {.ifindex = ifindex};

	memcpy(&key.addr, address, sizeof(key.addr));
	return ifindex && fd >= 0 && !bpf_map_lookup_elem(fd, &key, learned) &&
	       !domains_own(live->handle, &key, learned);
}

int32_t live_seconds(uint32_t tick)
{
	const int64_t left = (int32_t)(tick - program_tick_before(0));
	const int64_t hz = program_jiffies_per_second();

	return left < 0 ? -1 : (left << BH_TICK_SHIFT) / hz;
}
