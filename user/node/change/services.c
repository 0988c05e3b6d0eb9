// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "compile/frontend.h"
#include "compile/lazy_policy.h"
#include "maps/assign.h"
#include "maps/service.h"
#include "node/change/services.h"

/* The state of one services_make(). */
struct maker {
	struct node_handle *handle;
	const struct policy *policy;
	const struct layout *layout;
	const struct local *local;
	struct table want; /* by key: struct bh_service_at, without a generation yet */
};

static void maker_free(struct maker *maker)
{
	table_free(&maker->want);
}

static bool is_local(const struct local *local, const struct address *address)
{
	for (size_t i = 0; i < local->n_addresses; i++)
		if (!memcmp(&local->addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

static bool is_audited(const struct maker *maker, const struct policy_endpoint *endpoint)
{
	const struct policy *policy = maker->policy;

	return maker->handle->options->audit ||
	       (endpoint &&
		(endpoint->flags | policy->namespaces[endpoint->ns].flags) & POLICY_AUDIT);
}

/* Adds a backend that is an address of this node. The caller's hook can judge only one such
 * backend: where several differ, the entry closes the Service. */
void services_add_own(struct bh_service_at *at, const struct policy_backend *backend,
		      uint32_t point)
{
	if (at->own_point &&
	    (at->own_point != point + 1 || memcmp(&at->own, &backend->address, sizeof(at->own))))
		at->flags |= BH_SERVICE_CLOSED;
	at->own_point = point + 1;
	memcpy(&at->own, &backend->address, sizeof(at->own));
}

void services_add_word(struct bh_service_at *at, uint32_t word, uint32_t point, bool *first)
{
	if (*first) {
		at->backend = word;
		at->point = point;
	} else if (at->backend != word || at->point != point) {
		at->backend = 0;
	}
	*first = false;
}

void services_conclude(struct bh_service_at *at)
{
	/* a policy that denies a backend to others does not deny this node, so the backends
	 * differ */
	if (at->own_point)
		at->backend = 0;
	if (!at->backend)
		at->point = 0;
}

/* Adds a backend. *first: it is the first one. */
static void put_backend(const struct maker *maker, const struct policy_backend *backend,
			uint8_t protocol, bool *first, struct bh_service_at *at)
{
	const struct service_place place = backend_place(maker->policy, backend);
	const uint32_t point = bh_point(protocol, backend->port);
	const uint32_t slot =
		place.segment ? maker->layout->slots[place.segment - maker->policy->segments] : 0;
	const uint32_t word = slot ? (uint32_t)bh_assignment(0, slot, place.variation) : 0;

	if (is_local(maker->local, &backend->address))
		services_add_own(at, backend, point);
	if (is_audited(maker, place.endpoint))
		at->flags &= ~BH_SERVICE_ENFORCED;
	services_add_word(at, word, point, first);
}

/* Describes the backends of one IP version behind frontends of one key. */
static struct bh_service_at describe(const struct maker *maker, struct service_frontends frontends,
				     bool ipv4)
{
	struct bh_service_at at = {.flags = BH_SERVICE_THERE | BH_SERVICE_ENFORCED};
	bool first = true;

	for (size_t i = 0; i < frontends.n; i++) {
		size_t n;
		const struct policy_backend *backends =
			frontend_backends(maker->policy, &frontends.at[i], &n);

		for (size_t j = 0; j < n; j++)
			if (address_is_ipv4(&backends[j].address) == ipv4)
				put_backend(maker, &backends[j], frontends.at[i].protocol, &first,
					    &at);
	}
	services_conclude(&at);
	return at;
}

/* Returns the key of a frontend; of a node port, the one for IPv4 or IPv6. */
struct bh_service_key services_key(const struct policy_frontend *frontend, bool ipv4)
{
	struct bh_service_key key = {.port = htons(frontend->port), .protocol = frontend->protocol};

	memcpy(&key.addr, &frontend->address, sizeof(key.addr));
	if (frontend_is_node_port(frontend) && ipv4)
		key.addr.word[2] = htonl(0xffff);
	return key;
}

static int want(struct maker *maker, struct service_frontends frontends, bool ipv4)
{
	const struct bh_service_at at = describe(maker, frontends, ipv4);
	const struct bh_service_key key = services_key(frontends.at, ipv4);

	return table_add(&maker->want, &key, &at);
}

static int want_all(struct maker *maker)
{
	const struct policy *policy = maker->policy;
	int error = 0;

	table_init(&maker->want, sizeof(struct bh_service_key), sizeof(struct bh_service_at));
	for (size_t i = 0; !error && i < policy->n_frontends;) {
		const struct service_frontends frontends = service_frontends_at(policy, i);
		const bool node_port = frontend_is_node_port(frontends.at);

		if (node_port || address_is_ipv4(&frontends.at->address))
			error = want(maker, frontends, true);
		if (!error && (node_port || !address_is_ipv4(&frontends.at->address)))
			error = want(maker, frontends, false);
		i += frontends.n;
	}
	table_sort(&maker->want);
	return error;
}

/* Whether both say the same. Their generations may differ. */
static bool same_at(const struct bh_service_at *a, const struct bh_service_at *b)
{
	struct bh_service_at copy = *a;

	copy.from = b->from;
	return !memcmp(&copy, b, sizeof(copy));
}

/* Stores @at, to count from @generation on, in place of the half of the entry that is not valid
 * now. */
static int add_store(struct change *change, const struct bh_service_key *key, int valid,
		     const struct bh_service_at *at, uint32_t generation)
{
	struct bh_assign request = {
		.which = BH_ASSIGN_SERVICE | (valid == 0), .service = *key, .at = *at};

	request.at.from = generation;
	return table_add(&change->maps[MAP_services].store, key, &request);
}

/* Makes a key's entry say @at from @generation on. @old: the key's entry; NULL: it has none. */
static int come(const struct bh_service_key *key, const struct bh_service *old,
		const struct bh_service_at *at, uint32_t generation, struct change *change)
{
	const int valid = old ? bh_service_valid(old, generation - 1) : -1;
	struct bh_service new = {.at = {*at}};

	new.at[0].from = generation;
	if (!old)
		return table_add(&change->maps[MAP_services].put, key, &new);
	return valid < 0 || !same_at(&old->at[valid], at)
		       ? add_store(change, key, valid, at, generation)
		       : 0;
}

static int go(const struct bh_service_key *key, const struct bh_service *old, uint32_t generation,
	      struct change *change)
{
	const int valid = bh_service_valid(old, generation - 1);
	const struct bh_service_at nothing = {};
	int error = 0;

	if (valid >= 0 && old->at[valid].flags & BH_SERVICE_THERE)
		error = add_store(change, key, valid, &nothing, generation);
	return error ? error : table_add(&change->maps[MAP_services].gone, key, old);
}

int services_replace(struct node_handle *handle, const struct bh_service_key *key,
		     const struct bh_service_at *at, struct change *change)
{
	struct bh_service old;
	int error = maps_lookup(handle, MAP_services, key, &old);

	return error && error != -ENOENT
		       ? error
		       : come(key, error ? NULL : &old, at, node_generation(handle) + 1, change);
}

int services_remove(struct node_handle *handle, const struct bh_service_key *key,
		    struct change *change)
{
	struct bh_service old;
	int error = maps_lookup(handle, MAP_services, key, &old);

	if (error)
		return error == -ENOENT ? 0 : error;
	return go(key, &old, node_generation(handle) + 1, change);
}

static int compare(struct maker *maker, const struct table *have, struct change *change)
{
	const uint32_t generation = node_generation(maker->handle) + 1;
	const struct table *want = &maker->want;
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = come(table_key(want, i), table_find(have, table_key(want, i)),
			     table_value(want, i), generation, change);
	for (size_t i = 0; !error && i < have->n; i++)
		if (!table_find(want, table_key(have, i)))
			error = go(table_key(have, i), table_value(have, i), generation, change);
	return error;
}

int services_make(struct node_handle *handle, const struct image *have, const struct layout *layout,
		  const struct local *local, struct change *change)
{
	CLEANUP(maker_free)
	struct maker maker = {
		.handle = handle, .policy = layout->policy, .layout = layout, .local = local};
	int error = want_all(&maker);

	if (!error)
		error = compare(&maker, &have->map[MAP_services], change);
	if (error)
		return node_fail(handle, error, "cannot work out the Services");
	change_want(change, MAP_services,
		    have->map[MAP_services].n + change->maps[MAP_services].put.n);
	return 0;
}

int services_repair(struct node_handle *handle, const struct table *have, struct change *change)
{
	const uint32_t generation = node_generation(handle);
	const struct bh_service_at nothing = {};
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const struct bh_service_key *key = table_key(have, i);
		const struct bh_service *service = table_value(have, i);
		const int valid = bh_service_valid(service, generation);

		for (int at = 0; !error && at < 2; at++)
			if (service->at[at].from > generation)
				error = add_store(change, key, !at, &nothing, 0);
		if (!error && (valid < 0 || !(service->at[valid].flags & BH_SERVICE_THERE)))
			error = table_add(&change->maps[MAP_services].gone, key, service);
	}
	return error;
}

/* Whether the frontend belongs to a Service of the namespace, and leads to addresses of the IP
 * version. */
static bool may_lead_to(const struct lazy_policy *policy, const struct policy_frontend *frontend,
			const char *ns, bool ipv4)
{
	const struct policy_service_port *port =
		lazy_read(policy, &policy->service_ports[frontend->service_port], sizeof(*port));
	const struct policy_service *service =
		lazy_read(policy, &policy->services[port->service], sizeof(*service));

	return (frontend_is_node_port(frontend) || address_is_ipv4(&frontend->address) == ipv4) &&
	       !strcmp(lazy_read_string(policy, service->ns), ns);
}

/* Makes the entry say from the next generation on that its backends differ, unless all have the
 * same word. */
static int differ(const struct node_handle *handle, const struct bh_service_key *key, uint32_t word,
		  struct change *change)
{
	const struct table *store = &change->maps[MAP_services].store;
	struct bh_service service;
	struct bh_service_at at;
	int valid;

	for (size_t i = 0; i < store->n; i++)
		if (!memcmp(table_key(store, i), key, sizeof(*key)))
			return 0;
	if (maps_lookup(handle, MAP_services, key, &service))
		return 0;
	valid = bh_service_valid(&service, node_generation(handle));
	if (valid < 0 || !service.at[valid].backend || service.at[valid].backend == word)
		return 0;
	at = service.at[valid];
	at.backend = at.point = 0;
	return add_store(change, key, valid, &at, node_generation(handle) + 1);
}

int services_may_have(const struct node_handle *handle, const char *ns, bool ipv4, uint64_t place,
		      struct change *change)
{
	const struct lazy_policy *policy = handle->policy;
	const struct policy_frontend *frontends =
		lazy_read(policy, policy->frontends, policy->n_frontends * sizeof(*frontends));
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const struct bh_service_key key = services_key(&frontends[i], ipv4);

		if (may_lead_to(policy, &frontends[i], ns, ipv4))
			error = differ(handle, &key, (uint32_t)place, change);
	}
	return error;
}
