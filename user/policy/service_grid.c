// SPDX-License-Identifier: GPL-2.0-only
#include "policy/service_grid.h"

#include "model/grow.h"

#define NO_KIND UINT32_MAX

/* evaluate_service() takes as long for a backend as class_grid_each() for so many cells, about. */
#define CELLS_PER_BACKEND 100

/* A chosen backend. */
struct grid_backend {
	uint32_t kind;
	uint32_t endpoint; /* index */
	const struct policy_node *node; /* that it is on; NULL: no input has it */
};

/* A Service whose chosen backends are endpoints, and have one port. */
struct alike_service {
	uint32_t service; /* index of request->services */
	uint16_t port; /* of the backends; 0: it has none */
	/* by IP version: places in service_grid.targets and .backends */
	size_t targets[FAMILIES], n_targets[FAMILIES];
	size_t backends[FAMILIES], n_backends[FAMILIES];
};

/* How many of the backends of a call are denied to strangers. */
struct denied_backends {
	uint32_t all;
	uint32_t *endpoints, *nodes; /* by index */
};

struct service_grid {
	const struct service_grid_request *request;
	signed char *cells;
	uint32_t *kind_of; /* by index of the policy's addresses */
	uint32_t *seen; /* by kind: the last `list` that has it */
	uint32_t list;
	ARRAY(uint32_t) targets; /* kinds of backends, for each Service each once */
	ARRAY(struct grid_backend) backends;
	struct denied_backends *denied;
	ARRAY(struct alike_service) services; /* sorted by port */
	size_t least; /* a grid for fewer backends costs more than it saves */
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

/* Returns the node that an endpoint is on. NULL: no input has it. */
static const struct policy_node *node_of(const struct policy *policy, uint32_t endpoint)
{
	const uint32_t name = policy->endpoints[endpoint].node;

	return name ? policy_node_by_name(policy, policy_string(policy, name)) : NULL;
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

bool service_grid_contested(const struct policy *policy)
{
	const size_t n = policy->n_node_addresses, size = sizeof(struct address);
	struct address *sorted = grow_zeroed(n, size);
	bool contested = false;

	if (n)
		memcpy(sorted, policy->node_addresses, n * size);
	sort_records(sorted, n, size, compare_addresses);
	for (size_t i = 0; i < n && !contested; i++)
		contested = policy_address_find(policy, &sorted[i]) ||
			    (i && !compare_addresses(&sorted[i - 1], &sorted[i]));
	free(sorted);
	return contested;
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
	service->n_backends[family]++;
	array_push(&grid->backends, ((struct grid_backend){kind, address->endpoint,
							   node_of(policy, address->endpoint)}));
	if (grid->seen[kind] == grid->list)
		return true;
	grid->seen[kind] = grid->list;
	array_push(&grid->targets, kind);
	service->n_targets[family]++;
	return true;
}

static bool list_targets(struct service_grid *grid, struct alike_service *service,
			 enum family family)
{
	const struct flow_side *side = &grid->request->services[service->service];
	struct service_verdict found;
	bool alike = service_list_backends(grid->request->names, &side->address[family],
					   grid->request->port, &found);

	service->targets[family] = grid->targets.n;
	service->backends[family] = grid->backends.n;
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

static size_t find_least(const struct service_grid *grid)
{
	const struct flow_classes *kinds = grid->request->kinds;
	size_t cells = 0, calls = 0;

	for (size_t i = 0; i < kinds->n; i++) {
		if (grid->request->from && !grid->request->from[i])
			continue;
		cells += kinds->n;
		for (size_t k = 0; k < kinds->at[i].n; k++)
			calls += service_grid_counts(&kinds->at[i], k);
	}
	return calls ? cells / calls / CELLS_PER_BACKEND : 0;
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

/* Returns the outcome of a call to strangers: to backends that are not the caller, nor on the node
 * that is. @near: a member of the kind may be that near to a backend. */
static signed char outcome_of_strangers(const struct service_grid *grid, size_t from,
					enum family family, const struct alike_service *service,
					const char *cells, bool *near)
{
	const uint32_t *targets = grid->targets.at + service->targets[family];
	const size_t n = service->n_targets[family];
	size_t allowed = 0;

	*near = grid->request->kinds->at[from].members->is_node;
	for (size_t i = 0; i < n; i++) {
		const char cell = cells[targets[i]];

		if (cell == GRID_ASK || cell == GRID_NONE)
			return SERVICE_GRID_ASK;
		allowed += cell != GRID_DENY;
		*near |= targets[i] == from;
	}
	return service_outcome_of(allowed, n);
}

/* Counts a call's denied backends by who reaches them all the same: themselves, and their nodes. */
static void count_denied(const struct service_grid *grid, enum family family,
			 const struct alike_service *service, const char *cells, uint32_t more)
{
	const struct grid_backend *backend = grid->backends.at + service->backends[family];
	const struct grid_backend *end = backend + service->n_backends[family];

	for (; backend < end; backend++) {
		if (cells[backend->kind] != GRID_DENY)
			continue;
		grid->denied->all += more;
		grid->denied->endpoints[backend->endpoint] += more;
		if (backend->node)
			grid->denied->nodes[backend->node - grid->request->names->nodes] += more;
	}
}

static enum service_outcome outcome_of_member(const struct service_grid *grid,
					      const struct flow_class_member *member,
					      enum family family, size_t n)
{
	const struct policy *policy = grid->request->names;
	const struct policy_address *own =
		policy_address_find(policy, &member->end.address[family]);
	const struct policy_node *node =
		member->is_node ? policy_node_by_name(policy, member->node[0]) : NULL;
	size_t denied = grid->denied->all;

	if (own)
		denied -= grid->denied->endpoints[own->endpoint];
	if (node)
		denied -= grid->denied->nodes[node - policy->nodes];
	return service_outcome_of(n - denied, n);
}

static signed char outcome_of_members(const struct service_grid *grid,
				      const struct flow_class *kind, enum family family,
				      const struct alike_service *service, const char *cells)
{
	signed char outcome = SERVICE_DENIED;

	count_denied(grid, family, service, cells, 1);
	for (size_t i = 0; i < kind->n; i++) {
		signed char other;

		if (!service_grid_counts(kind, i))
			continue;
		other = outcome_of_member(grid, &kind->members[i], family,
					  service->n_backends[family]);
		outcome = !i || other == outcome ? other : (signed char)SERVICE_DEPENDS;
	}
	count_denied(grid, family, service, cells, -1);
	return outcome;
}

static signed char cell_of(const struct service_grid *grid, size_t from,
			   const struct alike_service *service, const char *cells)
{
	const struct flow_class *kind = &grid->request->kinds->at[from];
	const enum family family = kind->members->end.first;
	signed char outcome;
	bool near;

	if (!grid->request->services[service->service].has[family])
		return SERVICE_GRID_ASK;
	outcome = outcome_of_strangers(grid, from, family, service, cells, &near);
	if (near && outcome != SERVICE_GRID_ASK && outcome != SERVICE_ALLOWED)
		outcome = outcome_of_members(grid, kind, family, service, cells);
	return outcome;
}

static int fill_row(void *data, size_t from, const char *cells)
{
	const struct service_grid *grid = data;

	if (!is_uniform(&grid->request->kinds->at[from]))
		return 0;
	for (size_t i = grid->first; i < grid->end; i++) {
		const struct alike_service *service = &grid->services.at[i];

		grid->cells[from * grid->request->n + service->service] =
			cell_of(grid, from, service, cells);
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
		.to = grid->to,
		.strangers = true};

	memset(grid->to, false, asked->kinds->n);
	for (size_t i = grid->first; i < grid->end; i++) {
		const struct alike_service *service = &grid->services.at[i];

		for (size_t k = 0; k < FAMILIES; k++)
			for (size_t t = 0; t < service->n_targets[k]; t++)
				grid->to[grid->targets.at[service->targets[k] + t]] = true;
	}
	return class_grid_each(&request, fill_row, grid);
}

static int make(void *data)
{
	struct service_grid *grid = data;
	const size_t n = grid->request->kinds->n;
	int error = 0;

	memset(grid->cells, SERVICE_GRID_ASK, n * grid->request->n);
	if (service_grid_contested(grid->request->names))
		return 0;
	grid->seen = grow_zeroed(n, sizeof(*grid->seen));
	grid->to = grow_zeroed(n, sizeof(*grid->to));
	grid->denied->endpoints =
		grow_zeroed(grid->request->names->n_endpoints, sizeof(*grid->denied->endpoints));
	grid->denied->nodes =
		grow_zeroed(grid->request->names->n_nodes, sizeof(*grid->denied->nodes));
	find_kinds(grid);
	list_services(grid);
	grid->least = find_least(grid);
	array_sort(&grid->services, compare_services);
	for (; grid->first < grid->services.n && !error; grid->first = grid->end) {
		size_t backends = 0;

		for (grid->end = grid->first; grid->end < grid->services.n; grid->end++) {
			const struct alike_service *service = &grid->services.at[grid->end];

			if (service->port != grid->services.at[grid->first].port)
				break;
			backends += service->n_backends[IPV4] + service->n_backends[IPV6];
		}
		if (backends >= grid->least)
			error = fill_services(grid);
	}
	return error;
}

int service_grid_fill(const struct service_grid_request *request, signed char *cells)
{
	struct denied_backends denied = {0};
	struct service_grid grid = {.request = request, .cells = cells, .denied = &denied};
	int error = request->n ? memory_guarded(make, &grid) : 0;

	free(grid.kind_of);
	free(grid.seen);
	free(grid.to);
	free(denied.endpoints);
	free(denied.nodes);
	array_free(&grid.targets);
	array_free(&grid.backends);
	array_free(&grid.services);
	return error;
}
