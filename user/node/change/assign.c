// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "compile/frontend.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "node/change/assign.h"
#include "node/change/survey.h"

/* A word to store into an entry of the maps, in place of assignment[which]. */
struct assign_word {
	uint64_t word;
	uint32_t which;
};

/* The state of one assign_make(). */
struct assigner {
	struct node_handle *handle;
	const struct image *have;
	const struct layout *layout;
	const struct local *local;
	struct change *change;
	uint32_t generation; /* generation of the new words: the one in force plus one */
	struct table want_prefixes; /* assignment[0] has the wanted slot */
	struct table want_endpoints;
};

static void assigner_free(struct assigner *assigner)
{
	table_free(&assigner->want_prefixes);
	table_free(&assigner->want_endpoints);
}

static struct bh_prefix_key prefix_key(const struct address *address, uint32_t length)
{
	struct bh_prefix_key key = {.length = length};

	memcpy(&key.addr, address, sizeof(key.addr));
	return key;
}

/* Whether two words lead to the same place. Their generations may differ. */
static bool same_place(uint64_t now, uint64_t to)
{
	return now && (uint32_t)now == (uint32_t)to;
}

/*
 * Makes the word that puts a key at @to from the next generation on, and chooses which of the key's
 * two words to replace. Returns false where the key is at @to already.
 */
static bool word_for(uint32_t generation, const __u64 words[2], uint64_t to,
		     struct assign_word *store)
{
	uint64_t now = bh_assignment_at(words[0], words[1], generation - 1);

	if (same_place(now, to))
		return false;
	store->which = now && now == words[0];
	store->word =
		bh_assignment(generation, bh_assignment_slot(to), bh_assignment_variation(to));
	return true;
}

static int want_prefix(struct assigner *assigner, const struct address *address, uint32_t length,
		       uint32_t segment, uint32_t flags)
{
	struct bh_prefix_key key = prefix_key(address, length);
	struct bh_prefix value = {
		.assignment = {bh_assignment(0, assigner->layout->slots[segment], 0)},
		.flags = flags,
	};

	return table_add(&assigner->want_prefixes, &key, &value);
}

static bool is_local(const struct local *local, const struct address *address)
{
	for (size_t i = 0; i < local->n_addresses; i++)
		if (!memcmp(&local->addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

/* Returns the flags of a Service's address. An address that is also an endpoint's or a node's is
 * a Service's at its ports only. A cluster address is a Service's at every port, although IPVS
 * puts it on an interface of the node. */
static uint32_t frontend_flags(const struct assigner *assigner,
			       const struct policy_frontend *frontend)
{
	const bool ports = frontend->flags & POLICY_FRONTEND_SHARED ||
			   (frontend->flags & POLICY_FRONTEND_EXTERNAL &&
			    is_local(assigner->local, &frontend->address));

	return ports ? BH_PREFIX_PORTS : BH_PREFIX_SERVICE;
}

/* Marks a prefix as a Service's. @more: wanted prefixes that are not sorted in yet. */
static int mark_service(struct assigner *assigner, const struct bh_prefix_key *key, uint32_t flags,
			struct table *more)
{
	struct bh_prefix *prefix = table_find(&assigner->want_prefixes, key);
	struct bh_prefix value = {.flags = flags};

	if (prefix)
		prefix->flags |= flags;
	return prefix ? 0 : table_add(more, key, &value);
}

static bool is_inside(const struct bh_prefix_key *key, const struct policy_cidr *cidr)
{
	const struct cidr outer = {cidr->address, cidr->length};
	struct address address;

	memcpy(&address, &key->addr, sizeof(address));
	return key->length >= cidr->length && cidr_contains(&outer, &address);
}

static bool is_of_a_node(const struct policy *policy, const struct bh_prefix_key *key)
{
	for (size_t i = 0; key->length == 128 && i < policy->n_node_addresses; i++)
		if (!memcmp(&policy->node_addresses[i], &key->addr, sizeof(key->addr)))
			return true;
	return false;
}

/* Marks all prefixes within a service-cidr as a Service's, except nodes' addresses. */
static void mark_inside(struct assigner *assigner, const struct policy_cidr *cidr)
{
	struct table *want = &assigner->want_prefixes;

	for (size_t i = 0; i < want->n; i++) {
		const struct bh_prefix_key *key = table_key(want, i);
		struct bh_prefix *prefix = table_value(want, i);

		if (is_inside(key, cidr) && !is_of_a_node(assigner->layout->policy, key))
			prefix->flags |= BH_PREFIX_SERVICE;
	}
}

static int add_marked(struct assigner *assigner, struct table *more)
{
	const struct policy *policy = assigner->layout->policy;
	int error = 0;

	for (size_t i = 0; !error && i < more->n; i++) {
		const struct bh_prefix_key *key = table_key(more, i);
		const struct bh_prefix *value = table_value(more, i);
		struct address address;

		memcpy(&address, &key->addr, sizeof(address));
		error = want_prefix(assigner, &address, key->length,
				    policy_prefix_find(policy, &address) - policy->segments,
				    value->flags);
	}
	table_sort(&assigner->want_prefixes);
	return error;
}

/* Adds prefixes for Services' addresses. Their segments are those of their covers, for the ports
 * that are no Service's. */
static int want_services(struct assigner *assigner)
{
	const struct policy *policy = assigner->layout->policy;
	CLEANUP(table_free) struct table more = {};
	const struct address *last = NULL;
	bool node_ports = false;
	int error = 0;

	table_init(&more, sizeof(struct bh_prefix_key), sizeof(struct bh_prefix));
	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct bh_prefix_key key = prefix_key(&frontend->address, 128);

		node_ports |= frontend_is_node_port(frontend);
		if (frontend_is_node_port(frontend) ||
		    (last && !memcmp(last, &frontend->address, sizeof(*last))))
			continue;
		last = &frontend->address;
		error = mark_service(assigner, &key, frontend_flags(assigner, frontend), &more);
	}
	for (size_t i = 0; !error && i < policy->n_service_cidrs; i++) {
		const struct bh_prefix_key key = prefix_key(&policy->service_cidrs[i].address,
							    policy->service_cidrs[i].length);

		error = mark_service(assigner, &key, BH_PREFIX_SERVICE, &more);
	}
	if (!error)
		error = add_marked(assigner, &more);
	for (size_t i = 0; i < policy->n_service_cidrs; i++)
		mark_inside(assigner, &policy->service_cidrs[i]);
	for (size_t i = 0; node_ports && i < assigner->want_prefixes.n; i++) {
		struct bh_prefix *prefix = table_value(&assigner->want_prefixes, i);

		if (prefix->flags & BH_PREFIX_NODE)
			prefix->flags |= BH_PREFIX_PORTS;
	}
	return error;
}

/* Returns the segment of one of the node's own addresses. An address that the Node object does not
 * name gets the segment of a named address in the same networks. */
static uint32_t segment_of_own(const struct assigner *assigner, const struct address *address)
{
	const struct policy *policy = assigner->layout->policy;
	const struct policy_node *node = policy_node_by_name(policy, assigner->local->name);
	const struct policy_segment *segment = policy_prefix_find(policy, address);

	for (uint32_t i = 0; node && i < node->addresses.n; i++) {
		const struct address *named = &policy->node_addresses[node->addresses.at + i];

		if (policy_prefix_around(policy, named, 127) == segment) {
			segment = policy_prefix_find(policy, named);
			break;
		}
	}
	return segment - policy->segments;
}

/* Collects the policy's prefixes and the node's own addresses. */
static int want_prefixes(struct assigner *assigner)
{
	const struct policy *policy = assigner->layout->policy;
	const struct local *local = assigner->local;
	const struct address *last = NULL;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_prefixes; i++) {
		const struct policy_prefix *prefix = &policy->prefixes[i];

		error = want_prefix(assigner, &prefix->address, prefix->length, prefix->segment, 0);
	}
	table_sort(&assigner->want_prefixes);
	for (size_t i = 0; !error && i < local->n_addresses; i++) {
		const struct address *address = &local->addresses[i];
		struct bh_prefix_key key = prefix_key(address, 128);
		struct bh_prefix *prefix;

		if (last && !memcmp(last, address, sizeof(*last)))
			continue;
		last = address;
		prefix = table_find(&assigner->want_prefixes, &key);
		if (prefix) {
			prefix->flags |= BH_PREFIX_NODE;
			continue;
		}
		error = want_prefix(assigner, address, 128, segment_of_own(assigner, address),
				    BH_PREFIX_NODE);
		table_sort(&assigner->want_prefixes);
	}
	return error ? error : want_services(assigner);
}

static int want_endpoints(struct assigner *assigner)
{
	const struct policy *policy = assigner->layout->policy;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_addresses; i++) {
		const struct policy_address *address = &policy->addresses[i];
		const struct policy_endpoint *endpoint = &policy->endpoints[address->endpoint];
		const uint32_t slot = address->segment == POLICY_NOWHERE
					      ? 0
					      : assigner->layout->slots[address->segment];
		struct bh_endpoint value = {
			.assignment = {bh_assignment(0, slot, address->variation)},
			.ifindex = assigner->local->ifindexes[address->endpoint],
		};

		const struct bh_iface *iface =
			value.ifindex ? survey_iface(assigner->local, value.ifindex) : NULL;

		if (iface && iface->flags & BH_IFACE_MAC)
			memcpy(value.mac, iface->mac, sizeof(value.mac));
		else if (endpoint->flags & POLICY_MAC)
			memcpy(value.mac, endpoint->mac, sizeof(value.mac));
		error = table_add(&assigner->want_endpoints, &address->address, &value);
	}
	table_sort(&assigner->want_endpoints);
	return error;
}

/* Returns the word in force of a prefix that the maps lack: its cover's word. */
static uint64_t cover_now(const struct node_handle *handle, const struct bh_prefix_key *key)
{
	struct bh_prefix cover;

	if (maps_lookup(handle, MAP_prefixes, key, &cover))
		return 0;
	return bh_assignment_at(cover.assignment[0], cover.assignment[1], node_generation(handle));
}

/* Returns the prefix' BH_PREFIX_SERVICES in the generation in force. */
static uint32_t services_now(const struct node_handle *handle, const struct bh_prefix *prefix)
{
	return bh_prefix_flags(prefix->flags, prefix->turn, node_generation(handle)) &
	       BH_PREFIX_SERVICES;
}

/* Gives a prefix @flags from the next generation on, and @now before. */
static void turn_prefix(uint32_t generation, uint32_t now, uint32_t flags, struct bh_prefix *prefix)
{
	prefix->flags = flags;
	prefix->turn = 0;
	if (now == (flags & BH_PREFIX_SERVICES))
		return;
	prefix->flags |= now << BH_PREFIX_BEFORE_SHIFT;
	prefix->turn = generation;
}

/* Returns the word with the variation that marks an endpoint as counting as its cover. */
static uint64_t as_cover(uint64_t word)
{
	return word | bh_assignment(0, 0, BH_VARIATION_COVER);
}

uint64_t assign_cover(const struct node_handle *handle, const struct bh_addr *addr)
{
	const struct bh_prefix_key key = {.length = 128, .addr = *addr};
	uint64_t word = cover_now(handle, &key);

	return word ? as_cover(word) : 0;
}

/* Returns the word of an endpoint that is about to go. Where the interface stays guarded, the
 * endpoint may still send: it is isolated, and does not count as its cover. */
static uint64_t leaving(const struct node_handle *handle, const struct bh_endpoint *entry,
			uint64_t cover)
{
	return handle->options->seal && entry->ifindex ? 0 : cover;
}

/* Finds the new cover of a prefix that the policy lacks: the next shorter prefix. NULL: none. */
static const struct bh_prefix *cover_then(const struct assigner *assigner,
					  const struct bh_prefix_key *key)
{
	struct address address;

	memcpy(&address, &key->addr, sizeof(address));
	for (uint32_t length = key->length; length-- > 0;) {
		struct address shorter = address_mask(&address, length);
		struct bh_prefix_key cover = prefix_key(&shorter, length);
		const struct bh_prefix *prefix = table_find(&assigner->want_prefixes, &cover);

		if (prefix)
			return prefix;
	}
	return NULL;
}

static uint64_t place_then(const struct assigner *assigner, const struct bh_prefix_key *key)
{
	const struct bh_prefix *cover = cover_then(assigner, key);

	return cover ? cover->assignment[0] : 0;
}

static int add_word(struct change *change, const struct bh_addr *addr,
		    const struct assign_word *word)
{
	const struct bh_assign request = {.addr = *addr, .which = word->which, .word = word->word};

	return table_add(&change->maps[MAP_endpoints].store, addr, &request);
}

/* Stores the interface or MAC of an endpoint, where it changes. */
static int add_host_side(struct change *change, const struct bh_addr *addr,
			 const struct bh_endpoint *want)
{
	struct bh_assign request = {
		.addr = *addr, .which = BH_ASSIGN_HOST_SIDE, .ifindex = want->ifindex};

	memcpy(request.mac, want->mac, sizeof(request.mac));
	return table_add(&change->maps[MAP_endpoints].store, addr, &request);
}

int assign_move(struct node_handle *handle, const struct bh_addr *addr,
		const struct bh_endpoint *entry, uint64_t to, struct change *change)
{
	const uint32_t generation = node_generation(handle);
	const uint64_t now =
		bh_assignment_at(entry->assignment[0], entry->assignment[1], generation);
	const struct assign_word word = {
		.which = now && now == entry->assignment[0],
		.word = bh_assignment(generation + 1, bh_assignment_slot(to),
				      bh_assignment_variation(to)),
	};

	return add_word(change, addr, &word);
}

int assign_leave(struct node_handle *handle, const struct bh_addr *addr,
		 const struct bh_endpoint *entry, struct change *change)
{
	return assign_leave_to(handle, addr, entry, assign_cover(handle, addr), change);
}

int assign_leave_to(struct node_handle *handle, const struct bh_addr *addr,
		    const struct bh_endpoint *entry, uint64_t cover, struct change *change)
{
	return assign_move(handle, addr, entry, leaving(handle, entry, cover ? as_cover(cover) : 0),
			   change);
}

static int come_prefix(struct assigner *assigner, const struct bh_prefix_key *key,
		       const struct bh_prefix *want)
{
	struct change_map *map = &assigner->change->maps[MAP_prefixes];
	const struct bh_prefix *old = table_find(&assigner->have->map[MAP_prefixes], key);
	struct bh_prefix value = {.assignment = {cover_now(assigner->handle, key)}};
	struct bh_prefix cover = {};
	struct assign_word store;
	uint32_t now;
	bool moves;

	if (old)
		value = *old;
	else
		maps_lookup(assigner->handle, MAP_prefixes, key, &cover);
	now = services_now(assigner->handle, old ? old : &cover);
	moves = word_for(assigner->generation, value.assignment, want->assignment[0], &store);
	if (moves)
		value.assignment[store.which] = store.word;
	if (old && !moves && ((old->flags & BH_PREFIX_NODE) | now) == want->flags)
		return 0;
	turn_prefix(assigner->generation, now, want->flags, &value);
	return table_add(&map->put, key, &value);
}

int assign_come(struct node_handle *handle, const struct bh_addr *addr,
		const struct bh_endpoint *old, const struct bh_endpoint *want,
		struct change *change)
{
	const uint32_t generation = node_generation(handle) + 1;
	struct bh_endpoint value = *want;
	struct assign_word store;
	int error = 0;

	if (!old) {
		value.assignment[0] = assign_cover(handle, addr);
		if (word_for(generation, value.assignment, want->assignment[0], &store))
			value.assignment[store.which] = store.word;
		return table_add(&change->maps[MAP_endpoints].put, addr, &value);
	}
	if (old->ifindex != want->ifindex || memcmp(old->mac, want->mac, sizeof(old->mac)))
		error = add_host_side(change, addr, want);
	if (!error && word_for(generation, old->assignment, want->assignment[0], &store))
		error = add_word(change, addr, &store);
	return error;
}

static int come_endpoint(struct assigner *assigner, const struct bh_addr *addr,
			 const struct bh_endpoint *want)
{
	return assign_come(assigner->handle, addr,
			   table_find(&assigner->have->map[MAP_endpoints], addr), want,
			   assigner->change);
}

static int go_prefix(struct assigner *assigner, const struct bh_prefix_key *key,
		     const struct bh_prefix *old)
{
	const struct bh_prefix *cover = cover_then(assigner, key);
	const uint32_t now = services_now(assigner->handle, old);
	const uint32_t then = cover ? cover->flags & BH_PREFIX_SERVICES : 0;
	struct change_map *map = &assigner->change->maps[MAP_prefixes];
	struct bh_prefix value = *old;
	struct assign_word store;
	int error = 0;
	bool moves;

	moves = word_for(assigner->generation, value.assignment, cover ? cover->assignment[0] : 0,
			 &store);
	if (moves)
		value.assignment[store.which] = store.word;
	if (moves || now != then) {
		turn_prefix(assigner->generation, now, (old->flags & BH_PREFIX_NODE) | then,
			    &value);
		error = table_add(&map->put, key, &value);
	}
	return error ? error : table_add(&map->gone, key, old);
}

static int go_endpoint(struct assigner *assigner, const struct bh_addr *addr,
		       const struct bh_endpoint *old)
{
	struct change_map *map = &assigner->change->maps[MAP_endpoints];
	struct bh_prefix_key key = {.length = 128, .addr = *addr};
	const struct bh_prefix *own = table_find(&assigner->want_prefixes, &key);
	const uint64_t to = own ? own->assignment[0] : place_then(assigner, &key);
	struct assign_word store;
	int error = 0;

	if (word_for(assigner->generation, old->assignment,
		     leaving(assigner->handle, old, as_cover(to)), &store))
		error = add_word(assigner->change, addr, &store);
	return error ? error : table_add(&map->gone, addr, old);
}

static int come_prefixes(struct assigner *assigner)
{
	const struct table *want = &assigner->want_prefixes;
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = come_prefix(assigner, table_key(want, i), table_value(want, i));
	return error;
}

static int compare_prefixes(struct assigner *assigner)
{
	const struct table *prefixes = &assigner->have->map[MAP_prefixes];
	int error = come_prefixes(assigner);

	for (size_t i = 0; !error && i < prefixes->n; i++)
		if (!table_find(&assigner->want_prefixes, table_key(prefixes, i)))
			error = go_prefix(assigner, table_key(prefixes, i),
					  table_value(prefixes, i));
	return error;
}

static int compare(struct assigner *assigner)
{
	const struct table *endpoints = &assigner->have->map[MAP_endpoints];
	const struct table *added = &assigner->have->map[MAP_added];
	const struct table *want = &assigner->want_endpoints;
	int error = compare_prefixes(assigner);

	for (size_t i = 0; !error && i < want->n; i++)
		error = come_endpoint(assigner, table_key(want, i), table_value(want, i));
	for (size_t i = 0; !error && i < endpoints->n; i++)
		if (!table_find(want, table_key(endpoints, i)))
			error = go_endpoint(assigner, table_key(endpoints, i),
					    table_value(endpoints, i));
	/* an added endpoint that is not kept is in the policy now, or is gone: its record goes */
	for (size_t i = 0; !error && i < added->n; i++)
		if (!table_find(&assigner->local->kept, table_key(added, i)))
			error = table_add(&assigner->change->maps[MAP_added].gone,
					  table_key(added, i), table_value(added, i));
	return error;
}

static int compare_more(struct assigner *assigner)
{
	const struct table *map = assigner->have->map, *want = &assigner->want_endpoints;
	int error = come_prefixes(assigner);

	for (size_t i = 0; !error && i < want->n; i++) {
		const struct bh_addr *addr = table_key(want, i);

		if (!table_find(&map[MAP_endpoints], addr) && !table_find(&map[MAP_added], addr))
			error = come_endpoint(assigner, addr, table_value(want, i));
	}
	return error;
}

/* Counts the prefixes that need room: those that replace none. */
static size_t new_prefixes(const struct assigner *assigner)
{
	const struct table *have = &assigner->have->map[MAP_prefixes];
	const struct table *put = &assigner->change->maps[MAP_prefixes].put;
	size_t n = 0;

	for (size_t i = 0; i < put->n; i++)
		n += !table_find(have, table_key(put, i));
	return n;
}

/* Compares the entries of the maps with the wanted ones, by @compare, and fills the change. */
static int make(struct assigner *assigner, int (*compare)(struct assigner *assigner))
{
	struct node_handle *handle = assigner->handle;
	struct change *change = assigner->change;
	const struct table *have = assigner->have->map;
	int error;

	assigner->generation = node_generation(handle) + 1;
	maps_init_table(MAP_prefixes, &assigner->want_prefixes);
	maps_init_table(MAP_endpoints, &assigner->want_endpoints);
	error = want_prefixes(assigner);
	if (!error)
		error = want_endpoints(assigner);
	if (!error)
		error = compare(assigner);
	if (error)
		return node_fail(handle, error, "cannot work out the assignments");
	change_want(change, MAP_endpoints,
		    have[MAP_endpoints].n + change->maps[MAP_endpoints].put.n);
	change_want(change, MAP_prefixes, have[MAP_prefixes].n + new_prefixes(assigner));
	return 0;
}

int assign_make(struct node_handle *handle, const struct image *have, const struct layout *layout,
		const struct local *local, struct change *change)
{
	CLEANUP(assigner_free)
	struct assigner assigner = {
		.handle = handle, .have = have, .layout = layout, .local = local, .change = change};

	return make(&assigner, compare);
}

int assign_make_prefixes(struct node_handle *handle, const struct image *have,
			 const struct layout *layout, const struct local *local,
			 struct change *change)
{
	CLEANUP(assigner_free)
	struct assigner assigner = {.handle = handle,
				    .have = have,
				    .layout = layout,
				    .local = local,
				    .change = change,
				    .generation = node_generation(handle) + 1};
	int error;

	maps_init_table(MAP_prefixes, &assigner.want_prefixes);
	error = want_prefixes(&assigner);
	if (!error)
		error = compare_prefixes(&assigner);
	change_want(change, MAP_prefixes, have->map[MAP_prefixes].n + new_prefixes(&assigner));
	return error;
}

int assign_make_more(struct node_handle *handle, const struct image *have,
		     const struct layout *layout, const struct local *local, struct change *change)
{
	CLEANUP(assigner_free)
	struct assigner assigner = {
		.handle = handle, .have = have, .layout = layout, .local = local, .change = change};

	return make(&assigner, compare_more);
}
