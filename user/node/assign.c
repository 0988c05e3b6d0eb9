// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "compile/service.h"
#include "maps/added.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "node/assign.h"
#include "node/pins.h"
#include "node/write.h"

/* What is asked while a `struct assign` is filled. */
struct assigner {
	struct host *host;
	const struct image *have;
	const struct layout *layout;
	const struct local *local;
	struct assign *assign;
	struct table want_prefixes; /* assignment[0] has the slot to be */
	struct table want_endpoints;
};

static void assigner_free(struct assigner *assigner)
{
	table_free(&assigner->want_prefixes);
	table_free(&assigner->want_endpoints);
}

void assign_free(struct assign *assign)
{
	table_free(&assign->endpoints);
	table_free(&assign->words);
	table_free(&assign->moved);
	table_free(&assign->prefixes);
	table_free(&assign->gone_endpoints);
	table_free(&assign->gone_added);
	table_free(&assign->gone_prefixes);
}

bool assign_is_empty(const struct assign *assign)
{
	return !assign->endpoints.n && !assign->words.n && !assign->moved.n && !assign->prefixes.n;
}

static struct bh_prefix_key prefix_key(const struct address *address, uint32_t length)
{
	struct bh_prefix_key key = {.length = length};

	memcpy(&key.addr, address, sizeof(key.addr));
	return key;
}

/* Two words for the same place, whatever they were valid from. */
static bool same_place(uint64_t now, uint64_t to)
{
	return now && (uint32_t)now == (uint32_t)to;
}

/*
 * The word to store so that a key is at @to from the next generation on, and in which of the two
 * places; false: it is there already.
 */
static bool word_for(const struct assign *assign, const __u64 words[2], uint64_t to,
		     struct assign_word *store)
{
	uint64_t now = bh_assignment_at(words[0], words[1], assign->generation - 1);

	if (same_place(now, to))
		return false;
	store->which = now && now == words[0];
	store->word = bh_assignment(assign->generation, bh_assignment_slot(to),
				    bh_assignment_variation(to));
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

/* What a Service's address is: of one that is also an endpoint's or a node's, ports only. The
 * cluster's own address may be on an interface of the node, as IPVS has it. */
static uint32_t frontend_flags(const struct assigner *assigner,
			       const struct policy_frontend *frontend)
{
	const bool ports = frontend->flags & POLICY_FRONTEND_SHARED ||
			   (frontend->flags & POLICY_FRONTEND_EXTERNAL &&
			    is_local(assigner->local, &frontend->address));

	return ports ? BH_PREFIX_PORTS : BH_PREFIX_SERVICE;
}

/* A prefix that is there, or is to be, is a Service's as well. @more: those to be, unsorted. */
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

/* All that lies in a service-cidr is a Service's, but for what nodes have. */
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

/* The addresses of Services: they keep the segments of their covers, for what is no Service's. */
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

/* The policy's prefixes, and the node's own addresses, each in its cover's segment. */
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
		uint32_t segment;

		if (last && !memcmp(last, address, sizeof(*last)))
			continue;
		last = address;
		prefix = table_find(&assigner->want_prefixes, &key);
		if (prefix) {
			prefix->flags |= BH_PREFIX_NODE;
			continue;
		}
		segment = policy_prefix_find(policy, address) - policy->segments;
		error = want_prefix(assigner, address, 128, segment, BH_PREFIX_NODE);
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

		if (endpoint->flags & POLICY_MAC)
			memcpy(value.mac, endpoint->mac, sizeof(value.mac));
		error = table_add(&assigner->want_endpoints, &address->address, &value);
	}
	table_sort(&assigner->want_endpoints);
	return error;
}

/* What the maps say now of a prefix that they do not have: its cover's word. */
static uint64_t cover_now(const struct host *host, const struct bh_prefix_key *key)
{
	struct bh_prefix cover;

	if (bpf_map_lookup_elem(host->maps[MAP_prefixes], key, &cover))
		return 0;
	return bh_assignment_at(cover.assignment[0], cover.assignment[1], node_generation(host));
}

/* Whether it is a Service's in the generation in force: BH_PREFIX_SERVICES. */
static uint32_t services_now(const struct host *host, const struct bh_prefix *prefix)
{
	return bh_prefix_flags(prefix->flags, prefix->turn, node_generation(host)) &
	       BH_PREFIX_SERVICES;
}

/* From the next generation on a prefix has @flags, until then it is a Service's as @now says. */
static void turn_prefix(const struct assign *assign, uint32_t now, uint32_t flags,
			struct bh_prefix *prefix)
{
	prefix->flags = flags;
	prefix->turn = 0;
	if (now == (flags & BH_PREFIX_SERVICES))
		return;
	prefix->flags |= now << BH_PREFIX_BEFORE_SHIFT;
	prefix->turn = assign->generation;
}

/* As an endpoint has it. */
static uint64_t as_cover(uint64_t word)
{
	return word | bh_assignment(0, 0, BH_VARIATION_COVER);
}

uint64_t assign_cover(const struct host *host, const struct bh_addr *addr)
{
	const struct bh_prefix_key key = {.length = 128, .addr = *addr};
	uint64_t word = cover_now(host, &key);

	return word ? as_cover(word) : 0;
}

/* What the policy will say of a prefix that it does not have: the next shorter one. NULL: none. */
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

static int come_prefix(struct assigner *assigner, const struct bh_prefix_key *key,
		       const struct bh_prefix *want)
{
	struct assign *assign = assigner->assign;
	const struct bh_prefix *old = table_find(&assigner->have->map[MAP_prefixes], key);
	struct bh_prefix value = {.assignment = {cover_now(assigner->host, key)}};
	struct bh_prefix cover = {};
	struct assign_word store;
	uint32_t now;
	bool moves;

	if (old)
		value = *old;
	else
		bpf_map_lookup_elem(assigner->host->maps[MAP_prefixes], key, &cover);
	now = services_now(assigner->host, old ? old : &cover);
	moves = word_for(assign, value.assignment, want->assignment[0], &store);
	if (moves)
		value.assignment[store.which] = store.word;
	if (old && !moves && ((old->flags & BH_PREFIX_NODE) | now) == want->flags)
		return 0;
	turn_prefix(assign, now, want->flags, &value);
	return table_add(&assign->prefixes, key, &value);
}

static int come_endpoint(struct assigner *assigner, const struct bh_addr *addr,
			 const struct bh_endpoint *want)
{
	struct assign *assign = assigner->assign;
	const struct bh_endpoint *old = table_find(&assigner->have->map[MAP_endpoints], addr);
	struct bh_endpoint value = *want;
	struct assign_word store;
	int error = 0;

	if (!old) {
		value.assignment[0] = assign_cover(assigner->host, addr);
		if (word_for(assign, value.assignment, want->assignment[0], &store))
			value.assignment[store.which] = store.word;
		return table_add(&assign->endpoints, addr, &value);
	}
	if (word_for(assign, old->assignment, want->assignment[0], &store))
		error = table_add(&assign->words, addr, &store);
	if (!error &&
	    (old->ifindex != want->ifindex || memcmp(old->mac, want->mac, sizeof(old->mac))))
		error = table_add(&assign->moved, addr, &value);
	return error;
}

static int go_prefix(struct assigner *assigner, const struct bh_prefix_key *key,
		     const struct bh_prefix *old)
{
	const struct bh_prefix *cover = cover_then(assigner, key);
	const uint32_t now = services_now(assigner->host, old);
	const uint32_t then = cover ? cover->flags & BH_PREFIX_SERVICES : 0;
	struct assign *assign = assigner->assign;
	struct bh_prefix value = *old;
	struct assign_word store;
	int error = 0;
	bool moves;

	moves = word_for(assign, value.assignment, cover ? cover->assignment[0] : 0, &store);
	if (moves)
		value.assignment[store.which] = store.word;
	if (moves || now != then) {
		turn_prefix(assign, now, (old->flags & BH_PREFIX_NODE) | then, &value);
		error = table_add(&assign->prefixes, key, &value);
	}
	return error ? error : table_add(&assign->gone_prefixes, key, old);
}

static int go_endpoint(struct assigner *assigner, const struct bh_addr *addr,
		       const struct bh_endpoint *old)
{
	struct assign *assign = assigner->assign;
	struct bh_prefix_key key = {.length = 128, .addr = *addr};
	const struct bh_prefix *own = table_find(&assigner->want_prefixes, &key);
	const uint64_t to = own ? own->assignment[0] : place_then(assigner, &key);
	struct assign_word store;
	int error = 0;

	if (word_for(assign, old->assignment, as_cover(to), &store))
		error = table_add(&assign->words, addr, &store);
	return error ? error : table_add(&assign->gone_endpoints, addr, old);
}

static int come_prefixes(struct assigner *assigner)
{
	const struct table *want = &assigner->want_prefixes;
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = come_prefix(assigner, table_key(want, i), table_value(want, i));
	return error;
}

static int compare(struct assigner *assigner)
{
	const struct table *prefixes = &assigner->have->map[MAP_prefixes];
	const struct table *endpoints = &assigner->have->map[MAP_endpoints];
	const struct table *added = &assigner->have->map[MAP_added];
	const struct table *want = &assigner->want_prefixes;
	int error = come_prefixes(assigner);

	for (size_t i = 0; !error && i < prefixes->n; i++)
		if (!table_find(want, table_key(prefixes, i)))
			error = go_prefix(assigner, table_key(prefixes, i),
					  table_value(prefixes, i));
	want = &assigner->want_endpoints;
	for (size_t i = 0; !error && i < want->n; i++)
		error = come_endpoint(assigner, table_key(want, i), table_value(want, i));
	for (size_t i = 0; !error && i < endpoints->n; i++)
		if (!table_find(want, table_key(endpoints, i)))
			error = go_endpoint(assigner, table_key(endpoints, i),
					    table_value(endpoints, i));
	/* Each of the others is the policy's now, or gone. */
	for (size_t i = 0; !error && i < added->n; i++)
		if (!table_find(&assigner->local->kept, table_key(added, i)))
			error = table_add(&assigner->assign->gone_added, table_key(added, i),
					  table_value(added, i));
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

static void assign_init(struct assign *assign, uint32_t generation)
{
	assign->generation = generation;
	table_init(&assign->endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(&assign->words, sizeof(struct bh_addr), sizeof(struct assign_word));
	table_init(&assign->moved, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(&assign->prefixes, sizeof(struct bh_prefix_key), sizeof(struct bh_prefix));
	table_init(&assign->gone_endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(&assign->gone_added, sizeof(struct bh_addr), sizeof(struct bh_added));
	table_init(&assign->gone_prefixes, sizeof(struct bh_prefix_key), sizeof(struct bh_prefix));
}

/* What only replaces one that is there takes no room. */
static size_t new_prefixes(const struct image *have, const struct assign *assign)
{
	size_t n = 0;

	for (size_t i = 0; i < assign->prefixes.n; i++)
		n += !table_find(&have->map[MAP_prefixes], table_key(&assign->prefixes, i));
	return n;
}

/* Works out, by @compare, what is to become of what there is and what is wanted. */
static int make(struct assigner *assigner, int (*compare)(struct assigner *assigner))
{
	struct host *host = assigner->host;
	struct assign *assign = assigner->assign;
	int error;

	assign_init(assign, node_generation(host) + 1);
	table_init(&assigner->want_prefixes, sizeof(struct bh_prefix_key),
		   sizeof(struct bh_prefix));
	table_init(&assigner->want_endpoints, sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	error = want_prefixes(assigner);
	if (!error)
		error = want_endpoints(assigner);
	if (!error)
		error = compare(assigner);
	if (error)
		return node_fail(host, error, "cannot work out the assignments");
	image_want(host, assigner->have, MAP_endpoints, assign->endpoints.n);
	image_want(host, assigner->have, MAP_prefixes, new_prefixes(assigner->have, assign));
	return 0;
}

int assign_make(struct host *host, const struct image *have, const struct layout *layout,
		const struct local *local, struct assign *assign)
{
	CLEANUP(assigner_free)
	struct assigner assigner = {
		.host = host, .have = have, .layout = layout, .local = local, .assign = assign};

	return make(&assigner, compare);
}

int assign_make_more(struct host *host, const struct image *have, const struct layout *layout,
		     const struct local *local, struct assign *assign)
{
	CLEANUP(assigner_free)
	struct assigner assigner = {
		.host = host, .have = have, .layout = layout, .local = local, .assign = assign};

	return make(&assigner, compare_more);
}

/* bpf(2) replaces a hash element as a whole and the kernel reuses the old one at once, under the
 * eyes of whoever reads it; a program stores into it. */
int assign_store(struct host *host, int program, const struct bh_assign *request)
{
	struct bh_assign copy = *request;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &copy, .ctx_size_in = sizeof(copy));
	int error = bpf_prog_test_run_opts(program, &run) ? -errno : (int)run.retval;

	if (!error)
		host->writes++;
	return error;
}

static int store_all(struct host *host, const struct assign *assign)
{
	SCOPED_FD int program = pins_get_program(host, PROGRAM_ASSIGN);
	int error = program < 0 ? program : 0;

	for (size_t i = 0; !error && i < assign->moved.n; i++) {
		const struct bh_endpoint *endpoint = table_value(&assign->moved, i);
		struct bh_assign request = {.which = BH_ASSIGN_HOST_SIDE,
					    .ifindex = endpoint->ifindex};

		memcpy(&request.addr, table_key(&assign->moved, i), sizeof(request.addr));
		memcpy(request.mac, endpoint->mac, sizeof(request.mac));
		error = assign_store(host, program, &request);
	}
	for (size_t i = 0; !error && i < assign->words.n; i++) {
		const struct assign_word *word = table_value(&assign->words, i);
		struct bh_assign request = {.which = word->which, .word = word->word};

		memcpy(&request.addr, table_key(&assign->words, i), sizeof(request.addr));
		error = assign_store(host, program, &request);
	}
	return error;
}

int assign_stage(struct host *host, const struct assign *assign)
{
	int error = write_table(host, &assign->prefixes, MAP_prefixes);

	if (!error)
		error = write_table(host, &assign->endpoints, MAP_endpoints);
	if (error)
		return error;
	error = store_all(host, assign);
	return error ? node_fail(host, error, "cannot assign in %s/endpoints", host->pin) : 0;
}

int assign_collect(struct host *host, const struct assign *assign)
{
	int error = write_delete(host, &assign->gone_endpoints, MAP_endpoints);

	if (!error)
		error = write_delete(host, &assign->gone_added, MAP_added);
	return error ? error : write_delete(host, &assign->gone_prefixes, MAP_prefixes);
}
