// SPDX-License-Identifier: GPL-2.0-only
#include "policy/service_grid.h"

#include <string.h>

#include "model/grow.h"

#define NO_KIND UINT32_MAX

/* A Service whose chosen backends are endpoints, and have one port. */
struct alike_service {
	uint32_t service; /* index of request->services */
	uint16_t port; /* of the backends; 0: it has none */
	/* by IP version: the backends' kinds in service_grid.targets */
	uint32_t at[FAMILIES], n[FAMILIES];
};

struct service_grid {
	const struct service_grid_request *request;
	signed char *cells;
	uint32_t *kind_of; /* by index of the policy's addresses */
	uint32_t *seen; /* by kind: the last `list` that has it */
	uint32_t list;
	ARRAY(uint32_t) targets; /* kinds */
	ARRAY(struct alike_service) services; /* sorted by port */
	size_t first, end; /* of `services`: those that are evaluated now */
	bool *to; /* by kind: one of them has such backends */
};

/* Services */

static void find_kinds(struct service_grid *grid)
{
	const struct policy *policy = grid->request->names;
	const struct flow_classes *kinds = grid->request->kinds;

	grid->kind_of = grow_zeroed(policy->n_addresses, sizeof(*grid->kind_of));
	memset(grid->kind_of, 0xff, policy->n_addresses * sizeof(*grid->kind_of));
	for (const struct flow_class *kind = kinds->at; kind < kinds->at + kinds->n; kind++)
		for (size_t i = 0; i < kind->n * FAMILIES; i++) {
			const struct flow_side *end = &kind->members[i / FAMILIES].end;
			const struct policy_address *address =
				policy_address_find(policy, &end->address[i % FAMILIES]);

			if (address && end->has[i % FAMILIES])
				grid->kind_of[address - policy->addresses] = kind - kinds->at;
		}
}

/* Adds a chosen backend. Returns false if the Service is none of those that are alike. */
static bool add_target(struct service_grid *grid, struct alike_service *service, enum family family,
		       const struct flow *flow)
{
	const struct policy *policy = grid->request->names;
	const struct policy_address *address = policy_address_find(policy, &flow->destination);
	const uint32_t kind = address ? grid->kind_of[address - policy->addresses] : NO_KIND;

	if (kind == NO_KIND || (service->port && service->port != flow->port))
		return false;
	service->port = flow->port;
	if (grid->seen[kind] == grid->list)
		return true;
	grid->seen[kind] = grid->list;
	array_push(&grid->targets, kind);
	service->n[family]++;
	return true;
}

static bool list_targets(struct service_grid *grid, struct alike_service *service,
			 enum family family)
{
	const struct flow_side *side = &grid->request->services[service->service];
	struct service_verdict found;
	bool alike = service_list_backends(grid->request->names, &side->address[family],
					   grid->request->port, &found);

	service->at[family] = grid->targets.n;
	grid->list++;
	for (size_t i = 0; i < found.n_backends && alike; i++)
		if (found.backends[i].chosen)
			alike = add_target(grid, service, family, &found.backends[i].flow);
	service_verdict_free(&found);
	return alike;
}

static void list_services(struct service_grid *grid)
{
	for (uint32_t i = 0; i < grid->request->n; i++) {
		struct alike_service service = {.service = i};
		bool alike = true;

		for (enum family family = IPV4; family < FAMILIES; family++)
			if (grid->request->services[i].has[family])
				alike = alike && list_targets(grid, &service, family);
		if (alike)
			array_push(&grid->services, service);
	}
}

static int compare_services(const void *a, const void *b)
{
	const struct alike_service *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->service < y->service ? -1 : x->service > y->service;
}

/* Cells */

/* Returns true if all of the kind call by the same IP version first. */
static bool is_uniform(const struct flow_class *kind)
{
	const enum family first = kind->members->end.first;
	bool uniform = true;

	for (size_t i = 0; i < kind->n && uniform; i++)
		uniform = kind->members[i].end.first == first && kind->members[i].end.has[first];
	return uniform;
}

static signed char cell_of(const struct service_grid *grid, enum family family,
			   const struct alike_service *service, const char *cells)
{
	const uint32_t *targets = grid->targets.at + service->at[family];
	const size_t n = service->n[family];
	size_t allowed = 0;

	if (!grid->request->services[service->service].has[family])
		return SERVICE_GRID_ASK;
	for (size_t i = 0; i < n; i++) {
		const char cell = cells[targets[i]];

		if (cell == GRID_ASK || cell == GRID_NONE)
			return SERVICE_GRID_ASK;
		allowed += cell != GRID_DENY;
	}
	return service_outcome_of(allowed, n);
}

static int fill_row(void *data, size_t from, const char *cells)
{
	const struct service_grid *grid = data;
	const struct flow_class *kind = &grid->request->kinds->at[from];

	if (!is_uniform(kind))
		return 0;
	for (size_t i = grid->first; i < grid->end; i++) {
		const struct alike_service *service = &grid->services.at[i];

		grid->cells[from * grid->request->n + service->service] =
			cell_of(grid, kind->members->end.first, service, cells);
	}
	return 0;
}

/* Evaluates the Services from grid->first to before grid->end. */
static int fill_services(struct service_grid *grid)
{
	const struct service_grid_request *asked = grid->request;
	const struct grid_request request = {
		.source = asked->source,
		.names = asked->names,
		.point = bh_point(asked->port->protocol, grid->services.at[grid->first].port),
		.kinds = asked->kinds,
		.from = asked->from,
		.to = grid->to};

	memset(grid->to, false, asked->kinds->n);
	for (size_t i = grid->first; i < grid->end; i++)
		for (size_t k = 0; k < FAMILIES; k++)
			for (uint32_t t = 0; t < grid->services.at[i].n[k]; t++)
				grid->to[grid->targets.at[grid->services.at[i].at[k] + t]] = true;
	return class_grid_each(&request, fill_row, grid);
}

static int make(void *data)
{
	struct service_grid *grid = data;
	const size_t n = grid->request->kinds->n;
	int error = 0;

	memset(grid->cells, SERVICE_GRID_ASK, n * grid->request->n);
	grid->seen = grow_zeroed(n, sizeof(*grid->seen));
	grid->to = grow_zeroed(n, sizeof(*grid->to));
	find_kinds(grid);
	list_services(grid);
	array_sort(&grid->services, compare_services);
	for (; grid->first < grid->services.n && !error; grid->first = grid->end) {
		grid->end = grid->first;
		while (grid->end < grid->services.n &&
		       grid->services.at[grid->end].port == grid->services.at[grid->first].port)
			grid->end++;
		if (grid->end - grid->first >= grid->request->least)
			error = fill_services(grid);
	}
	return error;
}

int service_grid_fill(const struct service_grid_request *request, signed char *cells)
{
	struct service_grid grid = {.request = request, .cells = cells};
	int error = request->n ? memory_guarded(make, &grid) : 0;

	free(grid.kind_of);
	free(grid.seen);
	free(grid.to);
	array_free(&grid.targets);
	array_free(&grid.services);
	return error;
}
