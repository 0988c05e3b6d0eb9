/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead matrix`: who reaches whom. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/ends.h"
#include "cmd/json.h"
#include "cmd/view.h"
#include "compile/service_flow.h"

enum reach { REACH_NO, REACH_YES, REACH_DEPENDS, REACH_NO_FAMILY };

/* What is asked for one port: the ends, and the Services that have it, which call nobody. */
struct table {
	const struct view *view;
	const struct ends *ends;
	const struct flow *port;
	struct end *services;
	size_t n_services;
};

static size_t n_columns(const struct table *table)
{
	return table->ends->n + table->n_services;
}

static const struct end *end_at(const struct table *table, size_t i)
{
	return i < table->ends->n ? &table->ends->at[i] : &table->services[i - table->ends->n];
}

/* Whether it is called by an address of its own at the port. */
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

static int list_services(struct table *table)
{
	const struct policy *policy = table->view->policy;

	table->services = calloc(policy->n_services + 1, sizeof(*table->services));
	if (!table->services)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_services; i++) {
		const struct policy_service *service = &policy->services[i];
		struct end end = end_of_service(policy, service, NULL);
		char text[SERVICE_NAME_TEXT];
		char *name;

		if (!serves(policy, service, table->port) || (!end.has[IPV4] && !end.has[IPV6]))
			continue;
		if (asprintf(&name, "svc:%s", service_name(policy, service, text)) < 0)
			return -ENOMEM;
		end.name = name;
		table->services[table->n_services++] = end;
	}
	return 0;
}

static void free_services(struct table *table)
{
	for (size_t i = 0; i < table->n_services; i++)
		free((char *)table->services[i].name);
	free(table->services);
}

static enum reach judge_to_service(const struct table *table, const struct flow *flow)
{
	static const enum reach reaches[] = {[SERVICE_DENIED] = REACH_NO,
					     [SERVICE_ALLOWED] = REACH_YES,
					     [SERVICE_DEPENDS] = REACH_DEPENDS};
	struct service_verdict verdict;

	judge_service(&table->view->source, table->view->policy, flow, &verdict);
	service_verdict_free(&verdict);
	return reaches[verdict.outcome];
}

static enum reach judge(const struct table *table, size_t from, size_t to)
{
	struct decision egress, ingress;
	struct flow flow = *table->port;

	if (!flow_between(end_at(table, from), end_at(table, to), &flow))
		return REACH_NO_FAMILY;
	if (to >= table->ends->n)
		return judge_to_service(table, &flow);
	return judge_flow(&table->view->source, table->view->policy, &flow, &egress, &ingress)
		       ? REACH_YES
		       : REACH_NO;
}

/* Between two ends that are no endpoints, there is nothing to judge. */
static bool is_judged(const struct table *table, size_t from, size_t to)
{
	if (from >= table->ends->n)
		return false;
	return from < table->ends->n_endpoints || to < table->ends->n_endpoints ||
	       to >= table->ends->n;
}

static void print_table(const struct table *table)
{
	static const char marks[] = {[REACH_NO] = '-',
				     [REACH_YES] = '+',
				     [REACH_DEPENDS] = '?',
				     [REACH_NO_FAMILY] = ' '};
	const size_t n = n_columns(table);
	int width = 4, digits = snprintf(NULL, 0, "%zu", n);
	char text[FLOW_TEXT];

	for (size_t i = 0; i < n; i++)
		if ((int)strlen(end_at(table, i)->name) > width)
			width = strlen(end_at(table, i)->name);
	printf("%*s %-*s", digits, "", width, port_print(table->port, text));
	for (size_t to = 0; to < n; to++)
		printf(" %*zu", digits, to + 1);
	putchar('\n');
	for (size_t from = 0; from < n; from++) {
		printf("%*zu %-*s", digits, from + 1, width, end_at(table, from)->name);
		for (size_t to = 0; to < n; to++)
			printf(" %*c", digits,
			       is_judged(table, from, to) ? marks[judge(table, from, to)] : ' ');
		putchar('\n');
	}
}

static struct json_object *json_table(const struct table *table)
{
	struct json_object *object = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	char text[FLOW_TEXT];

	json_add_text(object, "port", port_print(table->port, text));
	json_add(object, "reach", rows);
	for (size_t from = 0; from < table->ends->n; from++) {
		struct json_object *row = json_object_new_object();
		struct json_object *reached = json_object_new_array();
		struct json_object *depends = json_object_new_array();

		json_add_text(row, "from", table->ends->at[from].name);
		json_add(row, "to", reached);
		for (size_t to = 0; to < n_columns(table); to++) {
			enum reach reach =
				is_judged(table, from, to) ? judge(table, from, to) : REACH_NO;

			if (reach == REACH_YES)
				json_append_text(reached, end_at(table, to)->name);
			if (reach == REACH_DEPENDS)
				json_append_text(depends, end_at(table, to)->name);
		}
		/* Of Services only: some backend allows the flow, and another denies it. */
		if (table->n_services)
			json_add(row, "depends", depends);
		else
			json_object_put(depends);
		json_object_array_add(rows, row);
	}
	return object;
}

static int print_tables(const struct call *call, const struct view *view, const struct ends *ends,
			const struct flow *ports, size_t n)
{
	struct json_object *tables = call->json ? json_object_new_array() : NULL;
	int error = 0;

	if (!tables)
		printf("Rows reach columns: + yes, - no%s.\n",
		       view->policy->n_services ? ", ? by the backend that the kernel chooses"
						: "");
	for (size_t i = 0; i < n && !error; i++) {
		struct table table = {.view = view, .ends = ends, .port = &ports[i]};

		error = list_services(&table);
		if (!error && tables) {
			json_object_array_add(tables, json_table(&table));
		} else if (!error) {
			putchar('\n');
			print_table(&table);
		}
		free_services(&table);
	}
	if (tables && !error)
		json_print(json_object_get(tables), call->pretty);
	json_object_put(tables);
	return status_of(error);
}

#define PORTS_MAX 32

/* "TCP/80,UDP/53". Ends the process where it is not. */
static size_t parse_ports(const struct call *call, char *text, struct flow ports[PORTS_MAX])
{
	char why[FLOW_TEXT];
	size_t n = 0;

	for (char *rest, *port = strtok_r(text, ",", &rest); port;
	     port = strtok_r(NULL, ",", &rest)) {
		if (n == PORTS_MAX)
			call_usage_error(call, "at most %d ports at once", PORTS_MAX);
		if (port_parse(port, &ports[n++], why))
			call_usage_error(call, "%s", why);
	}
	if (!n)
		call_usage_error(call, "--port names no port");
	return n;
}

static const struct command_option options[] = {
	{'P', "port", "PORT,...", "TCP/80, UDP/53, SCTP/9; ICMP, ICMPv6 or a protocol's number"},
	VIEW_PIN_OPTION,
	{0},
};

static int run(struct call *call)
{
	struct flow ports[PORTS_MAX] = {0};
	const char *pin = NULL;
	char *text = NULL;
	struct view view;
	struct ends ends;
	int option, status;
	size_t n;

	while ((option = call_option(call)) != -1) {
		if (option == 'P')
			text = call->value;
		else
			pin = call->value;
	}
	if (!text)
		call_usage_error(call, "wants --port");
	n = parse_ports(call, text, ports);
	status = view_open(&view, call, pin);
	if (status)
		return status;
	status = status_of(ends_list(view.policy, &ends));
	if (!status) {
		print_tables(call, &view, &ends, ports, n);
		ends_free(&ends);
	}
	view_close(&view);
	return status;
}

const struct command command_matrix = {
	.name = "matrix",
	.operands = "[INPUT...]",
	.help = "a table of who reaches whom",
	.options = options,
	.run = run,
};
