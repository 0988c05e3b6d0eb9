// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "policy/frontend.h"
#include "policy/lazy_policy.h"
#include "maps/added.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "maps/service.h"
#include "model/search.h"
#include "node/local/discovery.h"
#include "node/plan/added_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/planner_parts.h"

/* Returns true if both say the same. Their generations may differ. */
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
static int add_entry(const struct bh_service_key *key, const struct bh_service *old,
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

static int delete_entry(const struct bh_service_key *key, const struct bh_service *old,
			uint32_t generation, struct change *change)
{
	const int valid = bh_service_valid(old, generation - 1);
	const struct bh_service_at nothing = {};
	int error = 0;

	if (valid >= 0 && old->at[valid].flags & BH_SERVICE_THERE)
		error = add_store(change, key, valid, &nothing, generation);
	return error ? error : table_add(&change->maps[MAP_services].deleted, key, old);
}

/* The tables of Services, read as a whole if one may differ, and what may differ in them. */
struct services {
	struct planner *plan;
	const struct policy_frontend *frontends;
	const struct policy_service_port *ports;
	const struct policy_backend *backends;
	bool *changed; /* by index of `ports`: the port, or the place of a backend */
	bool *moved; /* by index of `frontends` */
};

static void services_free(struct services *services)
{
	free(services->changed);
	free(services->moved);
}

static bool has_gone(const struct planner *plan, const char *ns)
{
	for (size_t i = 0; i < plan->added_gone.n; i++)
		if (!strcmp(((struct bh_added *)table_value(&plan->added_gone, i))->ns, ns))
			return true;
	return false;
}

/* Returns true if a backend's place may have changed. */
static bool has_moved(const struct services *services, uint32_t index)
{
	const struct planner *plan = services->plan;
	const struct address *address = &services->backends[index].address;

	return planner_is_fresh(plan, BLOB_TABLE_backends, index) ||
	       table_find(&plan->concerned, address) ||
	       (prefix_entries_may_move(plan) && !lazy_address_find(plan->new, address));
}

static bool is_changed(const struct services *services, uint32_t index)
{
	const struct planner *plan = services->plan;
	const struct policy_service_port *port = &services->ports[index];
	const struct policy_service *service;

	if (planner_is_fresh(plan, BLOB_TABLE_service_ports, index))
		return true;
	for (uint32_t i = port->backends.at; i < port->backends.at + port->backends.n; i++)
		if (has_moved(services, i))
			return true;
	if (!plan->added_gone.n)
		return false;
	service = LAZY_ONE(plan->new, services, port->service);
	return has_gone(plan, lazy_read_string(plan->new, service->ns));
}

/* Where a backend is. */
struct backend {
	uint32_t word; /* the lower half of its assignment word; 0: it is isolated */
	bool own; /* it is an address of this node */
	bool audited;
};

static bool is_audited(const struct planner *plan, const struct policy_address *address)
{
	const struct policy_endpoint *endpoint = LAZY_ONE(plan->new, endpoints, address->endpoint);
	const struct policy_namespace *ns = LAZY_ONE(plan->new, namespaces, endpoint->ns);

	return (endpoint->flags | ns->flags) & POLICY_AUDIT;
}

/* Finds an added endpoint that stays. */
static int find_added(const struct planner *plan, const struct address *address,
		      const struct bh_added *added, struct backend *at)
{
	CLEANUP(cluster_free) struct cluster cluster;
	struct endpoint *endpoint;
	uint64_t word;
	int error = added_word(plan, address, &word);

	cluster_init(&cluster);
	if (!error)
		error = record_read(added, &cluster, &endpoint);
	if (error)
		return error;
	at->word = word;
	at->audited = record_is_audited(plan->new, endpoint);
	return 0;
}

static bool is_own(const struct planner *plan, const struct address *address)
{
	struct bh_prefix_key key = {.length = 128};
	struct bh_prefix prefix;

	if (plan->local)
		return local_has_address(plan->local, address);
	memcpy(&key.addr, address, sizeof(key.addr));
	return !maps_lookup(plan->handle, MAP_prefixes, &key, &prefix) &&
	       prefix.flags & BH_PREFIX_NODE;
}

static int find_backend(struct planner *plan, const struct address *address, struct backend *at)
{
	const struct bh_added *added = added_kept(plan, address);
	const struct policy_address *found;
	uint32_t segment, slot = 0;
	int error = 0;

	*at = (struct backend){};
	if (added)
		return find_added(plan, address, added, at);
	found = lazy_address_find(plan->new, address);
	segment = found ? found->segment : 0;
	if (!found) {
		at->own = is_own(plan, address);
		segment =
			policy_prefix_find(planner_outside(plan), address) - plan->outside.segments;
	}
	if (segment != POLICY_NOWHERE)
		error = planner_slot(plan, segment, &slot);
	if (slot)
		at->word = bh_assignment(0, slot, found ? found->variation : 0);
	at->audited = found && is_audited(plan, found);
	return error;
}

/* Adds a backend that is an address of this node. The caller's hook can evaluate only one such
 * backend: if several differ, the entry closes the Service. */
static void add_own(struct bh_service_at *at, const struct policy_backend *backend, uint32_t point)
{
	if (at->own_point &&
	    (at->own_point != point + 1 || memcmp(&at->own, &backend->address, sizeof(at->own))))
		at->flags |= BH_SERVICE_CLOSED;
	at->own_point = point + 1;
	memcpy(&at->own, &backend->address, sizeof(at->own));
}

static void add_word(struct bh_service_at *at, uint32_t word, uint32_t point, bool *first)
{
	if (*first) {
		at->backend = word;
		at->point = point;
	} else if (at->backend != word || at->point != point) {
		at->backend = 0;
	}
	*first = false;
}

/* Adds a backend to an entry. *first: it is the first one. */
static int add_backend(const struct services *services, const struct policy_backend *backend,
		       uint8_t protocol, bool *first, struct bh_service_at *at)
{
	const uint32_t point = bh_point(protocol, backend->port);
	struct backend found;
	int error = find_backend(services->plan, &backend->address, &found);

	if (error)
		return error;
	if (found.own)
		add_own(at, backend, point);
	if (found.audited || services->plan->handle->options->audit)
		at->flags &= ~BH_SERVICE_ENFORCED;
	add_word(at, found.word, point, first);
	return 0;
}

/* Describes the backends of one IP version behind frontends of one key. */
static int describe(const struct services *services, const struct policy_frontend *frontends,
		    size_t n, bool ipv4, struct bh_service_at *at)
{
	bool first = true;
	int error = 0;

	*at = (struct bh_service_at){.flags = BH_SERVICE_THERE | BH_SERVICE_ENFORCED};
	for (size_t i = 0; i < n; i++) {
		const struct policy_service_port *port =
			&services->ports[frontends[i].service_port];

		for (uint32_t j = 0; !error && j < port->backends.n; j++) {
			const struct policy_backend *backend =
				&services->backends[port->backends.at + j];

			if (address_is_ipv4(&backend->address) == ipv4)
				error = add_backend(services, backend, frontends[i].protocol,
						    &first, at);
		}
	}
	/* a policy that denies a backend to others does not deny this node, so the backends
	 * differ */
	if (at->own_point)
		at->backend = 0;
	if (!at->backend)
		at->point = 0;
	return error;
}

/* Returns the key of a frontend; of a node port, the one for IPv4 or IPv6. */
static struct bh_service_key key_of(const struct policy_frontend *frontend, bool ipv4)
{
	struct bh_service_key key = {.port = htons(frontend->port), .protocol = frontend->protocol};

	memcpy(&key.addr, &frontend->address, sizeof(key.addr));
	if (frontend_is_node_port(frontend) && ipv4)
		key.addr.word[2] = htonl(0xffff);
	return key;
}

/* Finds the key's entry. Returns 0, also if there is none (*at NULL), or -errno. */
static int find_entry(const struct planner *plan, const struct bh_service_key *key,
		      struct bh_service *entry, const struct bh_service **at)
{
	const int error = maps_lookup(plan->handle, MAP_services, key, entry);

	*at = error ? NULL : entry;
	return error == -ENOENT ? 0 : error;
}

static int plan_key(struct services *services, const struct policy_frontend *frontends, size_t n,
		    bool ipv4)
{
	struct planner *plan = services->plan;
	const struct bh_service_key key = key_of(frontends, ipv4);
	const struct bh_service *old;
	struct bh_service entry;
	struct bh_service_at at;
	int error = describe(services, frontends, n, ipv4, &at);

	if (!error)
		error = find_entry(plan, &key, &entry, &old);
	return error ? error
		     : add_entry(&key, old, &at, node_generation(plan->handle) + 1, plan->change);
}

/* Plans the keys of a frontend: a node port has one for each IP version. */
static int plan_keys(struct services *services, const struct policy_frontend *frontends, size_t n)
{
	const bool node_port = frontend_is_node_port(frontends);
	const bool ipv4 = address_is_ipv4(&frontends->address);
	int error = node_port || ipv4 ? plan_key(services, frontends, n, true) : 0;

	return error || (!node_port && ipv4) ? error : plan_key(services, frontends, n, false);
}

static int compare_frontends(const struct policy_frontend *a, const struct policy_frontend *b)
{
	const int order = memcmp(&a->address, &b->address, sizeof(a->address));

	if (order)
		return order;
	return a->protocol != b->protocol ? a->protocol - b->protocol : a->port - b->port;
}

/* Returns the first of the frontends that have the place of @wanted; NULL: none has. */
static const struct policy_frontend *find_frontend(const struct services *services,
						   const struct policy_frontend *wanted)
{
	const size_t n = services->plan->new->n_frontends;
	const size_t at = SEARCH(n, i, compare_frontends(&services->frontends[i], wanted) < 0);

	return at < n && !compare_frontends(&services->frontends[at], wanted)
		       ? &services->frontends[at]
		       : NULL;
}

/* Returns the frontend's place of a key: address, protocol and port. */
static struct policy_frontend place_of(const struct bh_service_key *key)
{
	struct policy_frontend place = {.port = ntohs(key->port), .protocol = key->protocol};

	memcpy(&place.address, &key->addr, sizeof(place.address));
	/* the key of a node port for IPv4 */
	if (!key->addr.word[0] && !key->addr.word[1] && key->addr.word[2] == htonl(0xffff) &&
	    !key->addr.word[3])
		memset(&place.address, 0, sizeof(place.address));
	return place;
}

/* Plans a key that the old policy or the maps have. */
static int plan_deleted(struct services *services, const struct bh_service_key *key)
{
	const struct planner *plan = services->plan;
	const struct table *deleted = &plan->change->maps[MAP_services].deleted;
	const struct policy_frontend place = place_of(key);
	const struct policy_frontend *found = find_frontend(services, &place);
	const struct bh_service *old;
	struct bh_service entry;
	int error;

	if (found) {
		services->moved[found - services->frontends] = true;
		return 0;
	}
	for (size_t i = 0; plan->delta && i < deleted->n; i++)
		if (!memcmp(table_key(deleted, i), key, sizeof(*key)))
			return 0;
	error = find_entry(plan, key, &entry, &old);
	return error || !old
		       ? error
		       : delete_entry(key, old, node_generation(plan->handle) + 1, plan->change);
}

static int note_frontend(void *what, const struct lazy_policy *policy, uint32_t index)
{
	const struct services *services = what;

	(void)policy;
	services->moved[index] = true;
	return 0;
}

/* Plans the keys of a frontend that the old policy has. */
static int plan_old_frontend(void *what, const struct lazy_policy *policy, uint32_t index)
{
	struct services *services = what;
	const struct policy_frontend *frontend = LAZY_ONE(policy, frontends, index);
	struct bh_service_key key = key_of(frontend, false);
	int error = plan_deleted(services, &key);

	if (error || !frontend_is_node_port(frontend))
		return error;
	key = key_of(frontend, true);
	return plan_deleted(services, &key);
}

/* Removes the keys of the maps that no frontend has. */
static int compare_keys(struct services *services)
{
	const struct table *have = &services->plan->have->map[MAP_services];
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++)
		error = plan_deleted(services, table_key(have, i));
	return error;
}

static int plan_frontends(struct services *services)
{
	const size_t n_frontends = services->plan->new->n_frontends;
	int error = 0;

	for (size_t i = 0, n; !error && i < n_frontends; i += n) {
		const struct policy_frontend *frontends = &services->frontends[i];
		bool differs = false;

		for (n = 1; i + n < n_frontends && !compare_frontends(frontends, frontends + n);)
			n++;
		for (size_t j = i; j < i + n; j++)
			differs |= services->moved[j] ||
				   services->changed[services->frontends[j].service_port];
		error = differs ? plan_keys(services, frontends, n) : 0;
	}
	return error;
}

/* Finds the ports that may differ. Returns true if a frontend's entries may. */
static bool find_changed(struct services *services)
{
	const struct planner *plan = services->plan;
	bool any = !plan->delta || !delta_is_final(&plan->delta->tables[BLOB_TABLE_frontends]);

	for (size_t i = 0; plan->delta && i < plan->new->n_service_ports; i++) {
		services->changed[i] = is_changed(services, i);
		any |= services->changed[i];
	}
	return any;
}

/* Returns true if a Service may differ, or the place of a backend. */
static bool may_differ(const struct planner *plan)
{
	const struct delta_table *tables = plan->delta ? plan->delta->tables : NULL;

	return !tables || !delta_is_final(&tables[BLOB_TABLE_frontends]) ||
	       !delta_is_final(&tables[BLOB_TABLE_service_ports]) ||
	       !delta_is_final(&tables[BLOB_TABLE_backends]) || plan->concerned.n ||
	       plan->added_gone.n || prefix_entries_may_move(plan);
}

static int plan_services(struct planner *plan)
{
	const struct lazy_policy *policy = plan->new;
	CLEANUP(services_free)
	struct services services = {
		.plan = plan,
		.changed = calloc(policy->n_service_ports + 1, sizeof(*services.changed)),
		.moved = calloc(policy->n_frontends + 1, sizeof(*services.moved)),
	};
	int error = services.changed && services.moved ? 0 : -ENOMEM;

	services.ports = LAZY_ALL(policy, service_ports);
	services.backends = LAZY_ALL(policy, backends);
	if (error || !find_changed(&services))
		return error;
	services.frontends = LAZY_ALL(policy, frontends);
	error = planner_walk(plan, BLOB_TABLE_frontends, note_frontend, plan_old_frontend,
			     &services);
	if (!error && !plan->delta)
		error = compare_keys(&services);
	return error ? error : plan_frontends(&services);
}

int service_entries_plan(struct planner *plan)
{
	int error = may_differ(plan) ? plan_services(plan) : 0;

	change_want(plan->change, MAP_services,
		    (plan->delta ? 2 * plan->old->n_frontends : plan->have->map[MAP_services].n) +
			    plan->change->maps[MAP_services].put.n);
	return error;
}

int service_entries_repair(struct node_handle *handle, const struct table *have,
			   struct change *change)
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
			error = table_add(&change->maps[MAP_services].deleted, key, service);
	}
	return error;
}

/* Returns true if the frontend belongs to a Service of the namespace, and leads to addresses of the
 * IP version. */
static bool may_lead_to(const struct lazy_policy *policy, const struct policy_frontend *frontend,
			const char *ns, bool ipv4)
{
	const struct policy_service_port *port =
		LAZY_ONE(policy, service_ports, frontend->service_port);
	const struct policy_service *service = LAZY_ONE(policy, services, port->service);

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

int service_entries_mark_differing(const struct node_handle *handle, const char *ns, bool ipv4,
				   uint64_t place, struct change *change)
{
	const struct lazy_policy *policy = handle->policy;
	const struct policy_frontend *frontends = LAZY_ALL(policy, frontends);
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const struct bh_service_key key = key_of(&frontends[i], ipv4);

		if (may_lead_to(policy, &frontends[i], ns, ipv4))
			error = differ(handle, &key, (uint32_t)place, change);
	}
	return error;
}
