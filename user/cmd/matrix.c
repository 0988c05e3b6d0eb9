/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead matrix`: who reaches whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/ends.h"
#include "cmd/json.h"
#include "cmd/view.h"

enum reach { REACH_NO, REACH_YES, REACH_NO_FAMILY };

static enum reach judge(const struct view *view, const struct ends *ends, size_t from, size_t to,
			const struct flow *port)
{
	struct decision egress, ingress;
	struct flow flow = *port;

	if (!flow_between(&ends->at[from], &ends->at[to], &flow))
		return REACH_NO_FAMILY;
	return judge_flow(&view->source, view->policy, &flow, &egress, &ingress) ? REACH_YES
										 : REACH_NO;
}

/* Between two ends that are no endpoints, there is nothing to judge. */
static bool is_judged(const struct ends *ends, size_t from, size_t to)
{
	return from < ends->n_endpoints || to < ends->n_endpoints;
}

static void print_table(const struct view *view, const struct ends *ends, const struct flow *port)
{
	static const char marks[] = {[REACH_NO] = '-', [REACH_YES] = '+', [REACH_NO_FAMILY] = ' '};
	int width = 4, digits = snprintf(NULL, 0, "%zu", ends->n);
	char text[FLOW_TEXT];

	for (size_t i = 0; i < ends->n; i++)
		if ((int)strlen(ends->at[i].name) > width)
			width = strlen(ends->at[i].name);
	printf("%*s %-*s", digits, "", width, port_print(port, text));
	for (size_t to = 0; to < ends->n; to++)
		printf(" %*zu", digits, to + 1);
	putchar('\n');
	for (size_t from = 0; from < ends->n; from++) {
		printf("%*zu %-*s", digits, from + 1, width, ends->at[from].name);
		for (size_t to = 0; to < ends->n; to++)
			printf(" %*c", digits,
			       is_judged(ends, from, to) ? marks[judge(view, ends, from, to, port)]
							 : ' ');
		putchar('\n');
	}
}

static struct json_object *json_table(const struct view *view, const struct ends *ends,
				      const struct flow *port)
{
	struct json_object *table = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	char text[FLOW_TEXT];

	json_add_text(table, "port", port_print(port, text));
	json_add(table, "reach", rows);
	for (size_t from = 0; from < ends->n; from++) {
		struct json_object *row = json_object_new_object();
		struct json_object *reached = json_object_new_array();

		json_add_text(row, "from", ends->at[from].name);
		json_add(row, "to", reached);
		json_object_array_add(rows, row);
		for (size_t to = 0; to < ends->n; to++)
			if (is_judged(ends, from, to) &&
			    judge(view, ends, from, to, port) == REACH_YES)
				json_append_text(reached, ends->at[to].name);
	}
	return table;
}

static void print_tables(const struct call *call, const struct view *view, const struct ends *ends,
			 const struct flow *ports, size_t n)
{
	struct json_object *tables;

	if (!call->json) {
		puts("Rows reach columns: + yes, - no.");
		for (size_t i = 0; i < n; i++) {
			putchar('\n');
			print_table(view, ends, &ports[i]);
		}
		return;
	}
	tables = json_object_new_array();
	for (size_t i = 0; i < n; i++)
		json_object_array_add(tables, json_table(view, ends, &ports[i]));
	json_print(tables, call->pretty);
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
