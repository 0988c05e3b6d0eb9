// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/services_delta.h"

#include <errno.h>
#include <string.h>

#include "compile/lazy_policy.h"
#include "maps/added.h"
#include "node/change/services.h"
#include "node/change/slot.h"

/* The tables of Services, read as a whole. */
struct reader {
	const struct delta_plan *plan;
	const struct policy_frontend *frontends;
	const struct policy_service_port *ports;
	const struct policy_backend *backends;
	bool *changed; /* by index of `ports` */
};

bool services_delta_fits(const struct delta *delta)
{
	const struct delta_table *ports = &delta->tables[BLOB_TABLE_service_ports];

	return ports->n == ports->n_base && delta_is_settled(&delta->tables[BLOB_TABLE_services]) &&
	       delta_is_settled(&delta->tables[BLOB_TABLE_frontends]) &&
	       delta_is_settled(&delta->tables[BLOB_TABLE_service_cidrs]);
}

static bool has_taken(const struct delta_plan *plan, const char *ns)
{
	for (size_t i = 0; i < plan->taken.n; i++)
		if (!strcmp(((struct bh_added *)table_value(&plan->taken, i))->ns, ns))
			return true;
	return false;
}

static bool is_changed(const struct reader *reader, uint32_t index)
{
	const struct delta_plan *plan = reader->plan;
	const struct lazy_policy *policy = plan->new;
	const struct policy_service_port *port = &reader->ports[index];
	const struct delta_table *tables = plan->delta->tables;
	const struct policy_service *service;

	if (delta_is_fresh(&tables[BLOB_TABLE_service_ports], index))
		return true;
	for (uint32_t i = port->backends.at; i < port->backends.at + port->backends.n; i++)
		if (delta_is_fresh(&tables[BLOB_TABLE_backends], i) ||
		    table_find(&plan->concerned, &reader->backends[i].address))
			return true;
	if (!plan->taken.n)
		return false;
	service = lazy_read(policy, &policy->services[port->service], sizeof(*service));
	return has_taken(plan, lazy_read_string(policy, service->ns));
}

/* Adds a backend, which must be an endpoint of the policy. */
static int add_backend(const struct reader *reader, const struct policy_backend *backend,
		       uint8_t protocol, bool *first, struct bh_service_at *at)
{
	const struct delta_plan *plan = reader->plan;
	const struct lazy_policy *policy = plan->new;
	const struct policy_address *address = lazy_address_find(policy, &backend->address);
	const struct policy_endpoint *endpoint;
	const struct policy_namespace *ns;
	const struct policy_segment *segment;

	if (!address)
		return -EOPNOTSUPP;
	endpoint = lazy_read(policy, &policy->endpoints[address->endpoint], sizeof(*endpoint));
	ns = lazy_read(policy, &policy->namespaces[endpoint->ns], sizeof(*ns));
	segment = lazy_read(policy, &policy->segments[address->segment], sizeof(*segment));
	if (slot_find(plan->handle, plan->change, segment->id, &plan->slots[address->segment]))
		return -EOPNOTSUPP;
	if ((endpoint->flags | ns->flags) & POLICY_AUDIT)
		at->flags &= ~BH_SERVICE_ENFORCED;
	services_add_word(at, bh_assignment(0, plan->slots[address->segment], address->variation),
			  services_point(protocol, backend->port), first);
	return 0;
}

/* Describes the backends of one IP version behind frontends of one key. */
static int plan_key(const struct reader *reader, const struct policy_frontend *frontends, size_t n,
		    bool ipv4)
{
	const struct delta_plan *plan = reader->plan;
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
	if (!at.backend)
		at.point = 0;
	return error ? error : services_replace(plan->handle, &key, &at, plan->change);
}

static bool same_key(const struct policy_frontend *a, const struct policy_frontend *b)
{
	return !memcmp(&a->address, &b->address, sizeof(a->address)) && a->port == b->port &&
	       a->protocol == b->protocol;
}

static int plan_frontends(const struct reader *reader, size_t at, size_t n)
{
	const struct policy_frontend *frontends = &reader->frontends[at];
	const bool node_port = frontend_is_node_port(frontends);
	const bool ipv4 = address_is_ipv4(&frontends->address);
	bool changed = false;
	int error = 0;

	for (size_t i = 0; i < n; i++)
		changed |= reader->changed[frontends[i].service_port];
	if (changed && (node_port || ipv4))
		error = plan_key(reader, frontends, n, true);
	if (!error && changed && (node_port || !ipv4))
		error = plan_key(reader, frontends, n, false);
	return error;
}

int services_delta_plan(const struct delta_plan *plan)
{
	const struct lazy_policy *policy = plan->new;
	SCOPED_FREE bool *changed = calloc(policy->n_service_ports + 1, sizeof(*changed));
	struct reader reader = {plan, .changed = changed};
	int error = changed ? 0 : -ENOMEM;

	reader.frontends = lazy_read(policy, policy->frontends,
				     policy->n_frontends * sizeof(*policy->frontends));
	reader.ports = lazy_read(policy, policy->service_ports,
				 policy->n_service_ports * sizeof(*policy->service_ports));
	reader.backends =
		lazy_read(policy, policy->backends, policy->n_backends * sizeof(*policy->backends));
	for (size_t i = 0; !error && i < policy->n_service_ports; i++)
		changed[i] = is_changed(&reader, i);
	for (size_t i = 0, n; !error && i < policy->n_frontends; i += n) {
		for (n = 1; i + n < policy->n_frontends &&
			    same_key(&reader.frontends[i], &reader.frontends[i + n]);)
			n++;
		error = plan_frontends(&reader, i, n);
	}
	return error;
}
