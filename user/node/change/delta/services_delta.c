// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/delta/services_delta.h"

#include <errno.h>
#include <string.h>

#include "compile/lazy_policy.h"
#include "maps/added.h"
#include "maps/dns.h"
#include "maps/prefix.h"
#include "model/search.h"
#include "node/change/delta/prefixes_delta.h"
#include "node/change/services.h"
#include "node/change/slot.h"

/* The tables of Services, read as a whole. */
struct reader {
	struct delta_plan *plan;
	const struct policy_frontend *frontends;
	const struct policy_service_port *ports;
	const struct policy_backend *backends;
	bool *changed; /* by index of `ports` */
	bool *moved; /* by index of `frontends` */
	struct table removed; /* keys */
};

static void reader_end(struct reader *reader)
{
	free(reader->changed);
	free(reader->moved);
	table_free(&reader->removed);
}

static bool has_taken(const struct delta_plan *plan, const char *ns)
{
	for (size_t i = 0; i < plan->taken.n; i++)
		if (!strcmp(((struct bh_added *)table_value(&plan->taken, i))->ns, ns))
			return true;
	return false;
}

/* Whether a backend's place may have changed. */
static bool has_moved(const struct reader *reader, uint32_t index)
{
	const struct delta_plan *plan = reader->plan;
	const struct address *address = &reader->backends[index].address;

	return delta_is_fresh(&plan->delta->tables[BLOB_TABLE_backends], index) ||
	       table_find(&plan->concerned, address) ||
	       (prefixes_delta_moves(plan->delta) && !lazy_address_find(plan->new, address));
}

static bool is_changed(const struct reader *reader, uint32_t index)
{
	const struct delta_plan *plan = reader->plan;
	const struct lazy_policy *policy = plan->new;
	const struct policy_service_port *port = &reader->ports[index];
	const struct policy_service *service;

	if (delta_is_fresh(&plan->delta->tables[BLOB_TABLE_service_ports], index))
		return true;
	for (uint32_t i = port->backends.at; i < port->backends.at + port->backends.n; i++)
		if (has_moved(reader, i))
			return true;
	if (!plan->taken.n)
		return false;
	service = lazy_read(policy, &policy->services[port->service], sizeof(*service));
	return has_taken(plan, lazy_read_string(policy, service->ns));
}

/* Finds the segment of a backend that is no endpoint. *own: the backend is this node. */
static int find_outside(const struct reader *reader, const struct policy_backend *backend,
			uint32_t *segment, bool *own)
{
	const struct delta_plan *plan = reader->plan;
	struct bh_prefix_key key = {.length = 128};
	struct bh_prefix prefix;

	/* an added endpoint has the backend's address: a whole load finds the endpoint's segment */
	if (table_find(&plan->added, &backend->address))
		return -EOPNOTSUPP;
	memcpy(&key.addr, &backend->address, sizeof(key.addr));
	*own = !maps_lookup(plan->handle, MAP_prefixes, &key, &prefix) &&
	       prefix.flags & BH_PREFIX_NODE;
	*segment = policy_prefix_find(&plan->outside, &backend->address) - plan->outside.segments;
	return 0;
}

static bool is_audited(const struct lazy_policy *policy, const struct policy_address *address)
{
	const struct policy_endpoint *endpoint = delta_endpoint(policy, address->endpoint);
	const struct policy_namespace *ns =
		lazy_read(policy, &policy->namespaces[endpoint->ns], sizeof(*ns));

	return (endpoint->flags | ns->flags) & POLICY_AUDIT;
}

static int add_backend(const struct reader *reader, const struct policy_backend *backend,
		       uint8_t protocol, bool *first, struct bh_service_at *at)
{
	struct delta_plan *plan = reader->plan;
	const struct policy_address *address = lazy_address_find(plan->new, &backend->address);
	const uint32_t point = bh_point(protocol, backend->port);
	uint32_t segment = address ? address->segment : 0;
	bool own = false;
	int error = address ? 0 : find_outside(reader, backend, &segment, &own);

	if (error || slot_find(plan->handle, plan->change, delta_segment(plan->new, segment)->id,
			       &plan->slots[segment]))
		return -EOPNOTSUPP;
	if (own)
		services_add_own(at, backend, point);
	if (address && is_audited(plan->new, address))
		at->flags &= ~BH_SERVICE_ENFORCED;
	services_add_word(at,
			  bh_assignment(0, plan->slots[segment], address ? address->variation : 0),
			  point, first);
	return 0;
}

/* Describes the backends of one IP version behind frontends of one key. */
static int plan_key(struct reader *reader, const struct policy_frontend *frontends, size_t n,
		    bool ipv4)
{
	struct delta_plan *plan = reader->plan;
	const struct bh_service_key key = services_key(frontends, ipv4);
	struct bh_service_at at = {.flags = BH_SERVICE_THERE | BH_SERVICE_ENFORCED};
	bool first = true;
	int error = 0;

	for (size_t i = 0; i < n; i++) {
		const struct policy_service_port *port = &reader->ports[frontends[i].service_port];

		for (uint32_t j = 0; !error && j < port->backends.n; j++) {
			const struct policy_backend *backend =
				&reader->backends[port->backends.at + j];

			if (address_is_ipv4(&backend->address) == ipv4)
				error = add_backend(reader, backend, frontends[i].protocol, &first,
						    &at);
		}
	}
	services_conclude(&at);
	return error ? error : services_replace(plan->handle, &key, &at, plan->change);
}

/* Calls @act for each key of a frontend: a node port has one for each IP version. */
static int each_key(struct reader *reader, const struct policy_frontend *frontends, size_t n,
		    int (*act)(struct reader *reader, const struct policy_frontend *frontends,
			       size_t n, bool ipv4))
{
	const bool node_port = frontend_is_node_port(frontends);
	const bool ipv4 = address_is_ipv4(&frontends->address);
	int error = node_port || ipv4 ? act(reader, frontends, n, true) : 0;

	return error || (!node_port && ipv4) ? error : act(reader, frontends, n, false);
}

static int compare_keys(const struct policy_frontend *a, const struct policy_frontend *b)
{
	const int order = memcmp(&a->address, &b->address, sizeof(a->address));

	if (order)
		return order;
	return a->protocol != b->protocol ? a->protocol - b->protocol : a->port - b->port;
}

static int plan_frontends(struct reader *reader, size_t at, size_t n)
{
	const struct policy_frontend *frontends = &reader->frontends[at];
	bool changed = false;

	for (size_t i = 0; i < n; i++)
		changed |= reader->moved[at + i] || reader->changed[frontends[i].service_port];
	return changed ? each_key(reader, frontends, n, plan_key) : 0;
}

static int remove_key(struct reader *reader, const struct policy_frontend *frontend, size_t n,
		      bool ipv4)
{
	const struct bh_service_key key = services_key(frontend, ipv4);

	(void)n;
	if (table_find(&reader->removed, &key))
		return 0;
	if (table_insert(&reader->removed, &key, NULL))
		return -ENOMEM;
	return services_remove(reader->plan->handle, &key, reader->plan->change);
}

/* Plans a frontend that is gone. Others may have its key. */
static int plan_gone(struct reader *reader, uint32_t index)
{
	const struct lazy_policy *old = reader->plan->old;
	const size_t n = reader->plan->new->n_frontends;
	const struct policy_frontend *gone = lazy_read(old, &old->frontends[index], sizeof(*gone));
	const size_t at = SEARCH(n, i, compare_keys(&reader->frontends[i], gone) < 0);

	if (at == n || compare_keys(&reader->frontends[at], gone))
		return each_key(reader, gone, 1, remove_key);
	reader->moved[at] = true;
	return 0;
}

/* Finds the frontends that come or change, and removes the keys of those that are gone. */
static int find_moved(struct reader *reader)
{
	const struct delta_table *table = &reader->plan->delta->tables[BLOB_TABLE_frontends];
	int error = 0;
	uint32_t i;

	for (i = delta_next_fresh(table, 0); !error && i < table->n;
	     i = delta_next_fresh(table, i + 1)) {
		const uint32_t before = delta_origin(table, i);

		reader->moved[i] = true;
		error = before == UINT32_MAX ? 0 : plan_gone(reader, before);
	}
	for (i = delta_next_gone(table, 0); !error && i < table->n_base;
	     i = delta_next_gone(table, i + 1))
		error = plan_gone(reader, i);
	return error;
}

static int plan_groups(struct reader *reader)
{
	const size_t n_frontends = reader->plan->new->n_frontends;
	int error = 0;

	for (size_t i = 0, n; !error && i < n_frontends; i += n) {
		for (n = 1; i + n < n_frontends &&
			    !compare_keys(&reader->frontends[i], &reader->frontends[i + n]);)
			n++;
		error = plan_frontends(reader, i, n);
	}
	return error;
}

/* Returns true if the port is DNS of the Service kube-system/kube-dns. */
static bool is_resolvers(const struct reader *reader, const struct policy_service_port *port)
{
	const struct lazy_policy *policy = reader->plan->new;
	const struct policy_service *service;

	if (port->port != BH_DNS_PORT)
		return false;
	service = lazy_read(policy, &policy->services[port->service], sizeof(*service));
	return !strcmp(lazy_read_string(policy, service->ns), "kube-system") &&
	       !strcmp(lazy_read_string(policy, service->name), "kube-dns");
}

static int add_resolver(struct table *want, const struct address *address)
{
	static const struct address none;
	const struct bh_resolver value = {.flags = BH_RESOLVER_SERVICE};

	if (!memcmp(address, &none, sizeof(none)) || table_find(want, address))
		return 0;
	return table_insert(want, address, &value);
}

/* Lists the addresses of the Service and of its backends, as a whole load does. */
static int want_resolvers(const struct reader *reader, struct table *want)
{
	const struct lazy_policy *policy = reader->plan->new;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &reader->frontends[i];

		if (frontend->port == BH_DNS_PORT &&
		    is_resolvers(reader, &reader->ports[frontend->service_port]))
			error = add_resolver(want, &frontend->address);
	}
	for (size_t i = 0; !error && i < policy->n_service_ports; i++) {
		const struct policy_service_port *port = &reader->ports[i];

		for (uint32_t k = 0; !error && k < port->backends.n; k++)
			if (is_resolvers(reader, port))
				error = add_resolver(
					want, &reader->backends[port->backends.at + k].address);
	}
	return error;
}

/* Plans the resolvers, where they are those of the Service. */
static int plan_resolvers(struct reader *reader)
{
	struct delta_plan *plan = reader->plan;
	struct change_map *map = &plan->change->maps[MAP_resolvers];
	CLEANUP(table_free) struct table have = {}, want = {}, gone = {};
	uint32_t flags = 0;
	int error;

	maps_init_table(MAP_resolvers, &have);
	maps_init_table(MAP_resolvers, &want);
	maps_init_table(MAP_resolvers, &gone);
	error = maps_read(plan->handle, MAP_resolvers, &have);
	for (size_t i = 0; i < have.n; i++)
		flags |= ((struct bh_resolver *)table_value(&have, i))->flags;
	if (error || flags & BH_RESOLVER_SAID)
		return error;
	error = want_resolvers(reader, &want);
	if (!error && !want.n != !(flags & BH_RESOLVER_SERVICE))
		return -EOPNOTSUPP;
	if (!error && want.n)
		error = table_without(&want, &have, &map->put);
	if (!error && want.n)
		error = table_without(&have, &want, &gone);
	for (size_t i = 0; !error && i < gone.n; i++)
		if (((struct bh_resolver *)table_value(&gone, i))->flags & BH_RESOLVER_SERVICE)
			error = table_add(&map->gone, table_key(&gone, i), table_value(&gone, i));
	change_want(plan->change, MAP_resolvers, have.n + map->put.n);
	return error;
}

int services_delta_plan(struct delta_plan *plan)
{
	const struct lazy_policy *policy = plan->new;
	CLEANUP(reader_end)
	struct reader reader = {
		.plan = plan,
		.changed = calloc(policy->n_service_ports + 1, sizeof(*reader.changed)),
		.moved = calloc(policy->n_frontends + 1, sizeof(*reader.moved)),
	};
	int error = reader.changed && reader.moved ? 0 : -ENOMEM;

	table_init(&reader.removed, sizeof(struct bh_service_key), 0);
	reader.frontends = plan->outside.frontends;
	reader.ports = lazy_read(policy, policy->service_ports,
				 policy->n_service_ports * sizeof(*policy->service_ports));
	reader.backends =
		lazy_read(policy, policy->backends, policy->n_backends * sizeof(*policy->backends));
	for (size_t i = 0; !error && i < policy->n_service_ports; i++)
		reader.changed[i] = is_changed(&reader, i);
	if (!error)
		error = find_moved(&reader);
	if (!error)
		error = plan_groups(&reader);
	if (!error)
		error = plan_resolvers(&reader);
	change_want(plan->change, MAP_services,
		    2 * plan->old->n_frontends + plan->change->maps[MAP_services].put.n);
	return error;
}
