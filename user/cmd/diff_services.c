/* SPDX-License-Identifier: GPL-2.0-only */
/* `diff`'s report of Services: the addresses, ports and backends that came or went. */
#include <stdio.h>
#include <string.h>

#include "cmd/diff_report.h"
#include "cmd/screen.h"

static const char *const words[] = {[OLD] = "removed", [NEW] = "added"};

static void print_port(const struct policy_service_port *port, char text[FLOW_TEXT])
{
	port_print(&(struct flow){.protocol = port->protocol, .port = port->port}, text);
}

static bool is_meant(const struct diff_report *report, const struct diff_service *change)
{
	const struct policy *policy = report->diff.policy[change->side];
	const struct filter *filter = report->filter;
	char name[SERVICE_NAME_TEXT + 4] = "svc:";
	struct flow_side side = {.name = name};

	service_name(policy, change->service, name + 4);
	if (filter->ns && strcmp(filter->ns, policy_string(policy, change->service->ns)))
		return false;
	if (change->port && !filter_has_port(filter, change->port->protocol, change->port->port))
		return false;
	return !filter->from && filter_matches(filter->to, &side);
}

/* Returns the part that came or went: "address 10.0.0.1", "node port 30080", "backend 10.1.0.3
 * port 80"; "" for a whole Service. */
static const char *part_print(const struct diff_service *change, char text[FLOW_TEXT])
{
	char address[ADDRESS_TEXT];
	const struct address none = {0};

	*text = '\0';
	if (change->backend)
		snprintf(text, FLOW_TEXT, "backend %s port %u",
			 address_print(&change->backend->address, address), change->backend->port);
	else if (change->frontend && !memcmp(&change->frontend->address, &none, sizeof(none)))
		snprintf(text, FLOW_TEXT, "node port %u", change->frontend->port);
	else if (change->frontend)
		snprintf(text, FLOW_TEXT, "address %s",
			 address_print(&change->frontend->address, address));
	return text;
}

static void emit_service(struct diff_report *report, const struct diff_service *change)
{
	char name[SERVICE_NAME_TEXT], port[FLOW_TEXT], part[FLOW_TEXT];
	struct emit *emit = &report->emit;

	if (change->port)
		print_port(change->port, port);
	emit_object(emit, NULL);
	emit_text(emit, "service",
		  service_name(report->diff.policy[change->side], change->service, name));
	emit_text(emit, "port", change->port ? port : NULL);
	emit_name(emit, "part", part_print(change, part));
	emit_text(emit, "change", words[change->side]);
	emit_end(emit);
}

static bool same_subject(const struct diff_service *a, const struct diff_service *b)
{
	return a->service == b->service && a->side == b->side && a->port == b->port && a->backend &&
	       b->backend;
}

/* Prints as many backends of one port as fit the screen, and the number of the others. */
static size_t print_backends(const struct diff_report *report, size_t i, struct text *text)
{
	const struct diff_service *at = report->diff.services.at;
	size_t width = screen_width(), n = 0, left_out = 0;
	char part[FLOW_TEXT];

	text_clear(text);
	for (; i + n < report->diff.services.n && (!n || same_subject(&at[i], &at[i + n])); n++) {
		part_print(&at[i + n], part);
		if (width && printbuf_length(text->buffer) + strlen(part) + 40 > width && n)
			left_out++;
		else
			text_add_listed(text, part);
	}
	if (left_out) {
		snprintf(part, sizeof(part), " and %zu more", left_out);
		text_add(text, part);
	}
	return n;
}

static size_t print_service(struct diff_report *report, size_t i, struct text *text)
{
	const struct diff_service *change = &report->diff.services.at[i];
	char name[SERVICE_NAME_TEXT], port[FLOW_TEXT] = "";
	size_t n = print_backends(report, i, text);

	if (change->port)
		print_port(change->port, port);
	printf("%s%s%s svc:%s%s%s%s%s\n", paint_on(PAINT_WARN), words[change->side], paint_off(),
	       service_name(report->diff.policy[change->side], change->service, name),
	       *port ? " " : "", port, printbuf_length(text->buffer) ? ": " : "",
	       text->buffer->buf);
	return n;
}

void diff_report_services(struct diff_report *report, struct text *text)
{
	size_t n;

	for (size_t i = 0; i < report->diff.services.n; i += n) {
		n = 1;
		if (!is_meant(report, &report->diff.services.at[i]))
			continue;
		report->n++;
		if (report->emit.json)
			emit_service(report, &report->diff.services.at[i]);
		else
			n = print_service(report, i, text);
	}
}
