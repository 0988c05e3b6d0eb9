/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead matrix`: who reaches whom. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/matrix_print.h"
#include "policy/service_grid.h"

/* Returns true if the Service has an address of its own, and has the port. */
static bool serves(const struct policy *policy, const struct policy_service *service,
		   const struct flow *port)
{
	if (service->flags & POLICY_SERVICE_HEADLESS)
		return false;
	for (uint32_t i = 0; i < service->ports.n; i++) {
		const struct policy_service_port *own =
			&policy->service_ports[service->ports.at + i];

		if (own->port == port->port && own->protocol == port->protocol)
			return true;
	}
	return false;
}

static int list_services(struct reach_table *table)
{
	const struct policy *policy = table->view->policy;

	table->services = calloc(policy->n_services + 1, sizeof(*table->services));
	if (!table->services)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_services; i++) {
		const struct policy_service *service = &policy->services[i];
		struct flow_side side = side_of_service(policy, service, NULL);
		char text[SERVICE_NAME_TEXT];
		char *name;

		if (!serves(policy, service, table->port) || (!side.has[IPV4] && !side.has[IPV6]))
			continue;
		if (asprintf(&name, "svc:%s", service_name(policy, service, text)) < 0)
			return -ENOMEM;
		side.name = name;
		table->services[table->n_services++] = side;
	}
	return 0;
}

static const enum reach service_reaches[] = {[SERVICE_DENIED] = REACH_NO,
					     [SERVICE_ALLOWED] = REACH_YES,
					     [SERVICE_DEPENDS] = REACH_DEPENDS};

static enum reach evaluate_service_from(const struct reach_table *table,
					const struct flow_class_member *from,
					const struct flow_side *service)
{
	struct service_verdict verdict;
	struct flow flow = *table->port;

	if (!flow_between(&from->end, service, &flow))
		return REACH_NONE;
	evaluate_service(&table->view->source, table->view->policy, &flow, &verdict);
	service_verdict_free(&verdict);
	return service_reaches[verdict.outcome];
}

/* The caller's node may decide which backends can be chosen, so each of the callers' nodes
 * counts. */
static enum reach evaluate_to_service(const struct reach_table *table,
				      const struct flow_class *from,
				      const struct flow_side *service)
{
	enum reach reach = evaluate_service_from(table, from->members, service);

	for (size_t i = 1; i < from->n; i++) {
		enum reach other;

		if (!service_grid_counts(from, i))
			continue;
		other = evaluate_service_from(table, &from->members[i], service);
		if (reach == REACH_NONE)
			reach = other;
		else if (other != REACH_NONE && other != reach)
			return REACH_DEPENDS;
	}
	return reach;
}

static enum reach evaluate(const struct reach_table *table, const struct flow_class_member *from,
			   const struct flow_class_member *to)
{
	struct decision egress, ingress;
	struct flow flow = *table->port;

	flow.name = to->end.domain;
	if (!flow_between(&from->end, &to->end, &flow))
		return REACH_NONE;
	if (!evaluate_flow(&table->view->source, table->view->policy, &flow, &egress, &ingress))
		return REACH_NO;
	return egress.audit || ingress.audit ? REACH_AUDIT : REACH_YES;
}

static bool is_local_node(const struct flow_class_member *a, const struct flow_class_member *b)
{
	return a->is_node != b->is_node && *a->node[0] && !strcmp(a->node[0], b->node[0]);
}

/* All members of a kind are evaluated alike, except an endpoint towards its own node. So one pair
 * with an own node and one without are enough. */
static enum reach evaluate_kinds(const struct reach_table *table, const struct flow_class *from,
				 const struct flow_class *to)
{
	bool nodes = from->members->is_node || to->members->is_node,
	     lone = from == to && to->n == 1;
	/* [0] with another node, [1] with its own */
	enum reach found[2] = {REACH_NONE, REACH_NONE};

	for (size_t i = 0; i < from->n; i++)
		for (size_t k = 0; k < to->n; k++) {
			const struct flow_class_member *a = &from->members[i], *b = &to->members[k];
			bool own = is_local_node(a, b);

			if ((a == b && !lone) || found[own] != REACH_NONE)
				continue;
			found[own] = evaluate(table, a, b);
			if (found[own] != REACH_NONE && (!nodes || found[!own] != REACH_NONE))
				goto evaluated;
		}
evaluated:
	if (found[0] == REACH_NONE || found[1] == REACH_NONE || found[0] == found[1])
		return found[0] == REACH_NONE ? found[1] : found[0];
	return found[0] == REACH_NO || found[1] == REACH_NO ? REACH_OWN : REACH_AUDIT;
}

static bool in_filter(const struct reach_table *table, size_t from, size_t to)
{
	const struct filter_flow_classes *meant = table->meant;
	const char *ns = table->filter->ns;
	const struct flow_side *service;

	if (!meant->from[from])
		return false;
	if (to < table->kinds->n)
		return meant->to[to] && (meant->either[from] || meant->either[to]);
	service = &table->services[to - table->kinds->n];
	if (!filter_matches(table->filter->to, service))
		return false;
	return meant->either[from] ||
	       (ns && !strcmp(ns, policy_string(table->view->policy, service->service->ns)));
}

/* Returns a cell of class_grid_each(). */
static enum reach reach_of(const struct reach_table *table, char cell, size_t from, size_t to)
{
	static const enum reach reaches[] = {[GRID_NONE] = REACH_NONE,
					     [GRID_DENY] = REACH_NO,
					     [GRID_ALLOW] = REACH_YES,
					     [GRID_AUDIT] = REACH_AUDIT};

	if (cell == GRID_ASK)
		return evaluate_kinds(table, &table->kinds->at[from], &table->kinds->at[to]);
	return reaches[(int)cell];
}

/* @cells: what class_grid_each() says of a kind to all. */
static int evaluate_row(void *data, size_t from, const char *cells)
{
	const struct reach_table *table = data;
	char *row = table->reach + from * n_columns(table);

	for (size_t to = 0; to < table->kinds->n; to++)
		if (in_filter(table, from, to))
			row[to] = reach_of(table, cells[to], from, to);
	return 0;
}

/* @cells: what service_grid_fill() says. */
static void evaluate_to_services(const struct reach_table *table, size_t from,
				 const signed char *cells)
{
	const size_t kinds = table->kinds->n;
	char *row = table->reach + from * n_columns(table);

	for (size_t i = 0; i < table->n_services; i++)
		if (in_filter(table, from, kinds + i))
			row[kinds + i] =
				cells[i] != SERVICE_GRID_ASK
					? service_reaches[(int)cells[i]]
					: evaluate_to_service(table, &table->kinds->at[from],
							      &table->services[i]);
}

static int evaluate_services(const struct reach_table *table)
{
	const struct service_grid_request request = {.source = &table->view->source,
						     .names = table->view->policy,
						     .port = table->port,
						     .kinds = table->kinds,
						     .from = table->meant->from,
						     .services = table->services,
						     .n = table->n_services};
	signed char *cells = calloc(table->kinds->n * table->n_services + 1, 1);
	int error = cells ? service_grid_fill(&request, cells) : -ENOMEM;

	for (size_t i = 0; i < table->kinds->n && !error; i++)
		evaluate_to_services(table, i, cells + i * table->n_services);
	free(cells);
	return error;
}

static int evaluate_all(struct reach_table *table)
{
	const struct grid_request request = {
		.source = &table->view->source,
		.names = table->view->policy,
		.point = bh_point(table->port->protocol, table->port->port),
		.kinds = table->kinds,
		.from = table->meant->from,
		.to = table->meant->to};
	size_t n = n_columns(table), rows = table->kinds->n;
	int error;

	table->reach = calloc(rows * n + 1, 1);
	table->row = calloc(rows + n + 1, sizeof(bool));
	table->column = table->row + rows;
	if (!table->reach || !table->row)
		return -ENOMEM;
	error = class_grid_each(&request, evaluate_row, table);
	return error ? error : evaluate_services(table);
}

/* Chooses the rows and columns to print: with --namespace, those of the namespace's pods, and of
 * the kinds that reach these pods or that these pods reach. */
static void choose(const struct reach_table *table)
{
	const struct filter *filter = table->filter;
	size_t n = n_columns(table), rows = table->kinds->n;

	for (size_t from = 0; from < rows; from++)
		for (size_t to = 0; to < n; to++) {
			enum reach reach = reach_at(table, from, to);

			if (!in_filter(table, from, to))
				continue;
			table->row[from] |=
				!filter->ns || table->meant->either[from] || reach > REACH_NO;
			table->column[to] |= !filter->ns || reach > REACH_NO ||
					     (to < rows && table->meant->either[to]);
		}
}

static void free_table(struct reach_table *table)
{
	for (size_t i = 0; i < table->n_services; i++)
		free((char *)table->services[i].name);
	free(table->services);
	free(table->reach);
	free(table->row);
}

static int print_tables(const struct call *call, const struct reach_table *common, bool pods)
{
	const struct filter *filter = common->filter;
	struct emit emit = emit_begin(call);
	int error = 0;

	emit_array(&emit, NULL);
	for (size_t i = 0; i < filter->n_ports && !error; i++) {
		struct reach_table table = *common;

		table.port = &filter->ports[i];
		error = list_services(&table);
		if (!error)
			error = evaluate_all(&table);
		if (!error)
			choose(&table);
		if (!error && call->json)
			matrix_emit(&emit, &table, pods);
		else if (!error)
			error = matrix_print(&table, pods, !i);
		free_table(&table);
	}
	if (error)
		emit_drop(&emit);
	else
		emit_end(&emit);
	return error;
}

struct matrix_request {
	struct filter filter;
	const char *pin;
	bool pods;
};

static const struct command_option options[] = {
	FILTER_OPTIONS(struct matrix_request, filter),
	{0, "pods", NULL, "a row and a column for each pod, not for each group of equal pods",
	 OPTION_FLAG(struct matrix_request, pods)},
	VIEW_PIN_OPTION(struct matrix_request, pin),
	{0},
};

static int run(struct call *call)
{
	struct matrix_request request = {0};
	struct filter_flow_classes meant = {0};
	struct flow_classes kinds = {0};
	struct view view;
	int status, error;

	call_options(call, &request);
	if (!request.filter.n_ports)
		call_usage_error(call, "needs --port");
	status = view_open(&view, call, request.pin);
	if (status)
		return status;
	error = request.pods ? flow_classes_list_each(view.policy, &kinds)
			     : flow_classes_list(&view.policy, 1, &kinds);
	if (!error)
		error = filter_flow_classes(&request.filter, view.policy, 0, &kinds, &meant);
	if (!error)
		error = print_tables(call,
				     &(struct reach_table){.view = &view,
							   .filter = &request.filter,
							   .kinds = &kinds,
							   .meant = &meant},
				     request.pods);
	filter_flow_classes_free(&meant);
	flow_classes_free(&kinds);
	view_close(&view);
	return status_of(error);
}

const struct command command_matrix = {
	.name = "matrix",
	.operands = "[INPUT...]",
	.help = "print a table of who reaches whom",
	.options = options,
	.run = run,
};
