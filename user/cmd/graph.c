// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead graph`: draws who reaches whom, as a picture or as an HTML page. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/filter.h"
#include "cmd/side.h"
#include "cmd/graph.h"
#include "cmd/inputs.h"
#include "cmd/output.h"
#include "cmd/view.h"

enum graph_format { FORMAT_DOT, FORMAT_SVG, FORMAT_HTML };

static const char *const formats[] = {
	[FORMAT_DOT] = "dot",
	[FORMAT_SVG] = "svg",
	[FORMAT_HTML] = "html",
};

struct graph_request {
	enum graph_format format;
	bool json, pretty; /* print JSON, not DOT */
	struct graph_filter filter;
	const char *base; /* --compare: the older policy; NULL: none */
	const char *output; /* NULL: standard output */
	const char *pin;
};

static void take_format(struct call *call, void *to)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(call->value, formats[i]))
			continue;
		*(enum graph_format *)to = i;
		return;
	}
	call_value_error(call, "not one of dot, svg and html");
}

static void take_port(struct call *call, void *to)
{
	struct graph_filter *filter = to;
	char why[FLOW_TEXT];
	struct flow flow;

	if (port_parse(call->value, &flow, why))
		call_usage_error(call, "--port %s", why);
	filter_note_number(call->value);
	filter->point = bh_point(flow.protocol, flow.port);
	filter->has_point = true;
}

static const struct command_option options[] = {
	{'f', "format", "FORMAT", "dot (the default, for graphviz), svg: a table, or html: a page",
	 OPTION_TAKE(struct graph_request, format, take_format)},
	{'o', "output", "FILE", "the file to write; else standard output",
	 OPTION_TEXT(struct graph_request, output)},
	{'P', "port", "PORT", "dot and svg: only flows to TCP/80, UDP/53, ICMP, ...",
	 OPTION_TAKE(struct graph_request, filter, take_port)},
	{0, "namespace", "NS", "dot and svg: only this namespace and its peers",
	 OPTION_TEXT(struct graph_request, filter.ns)},
	{0, "compare", "OLD", "html: show the difference from OLD to INPUT",
	 OPTION_TEXT(struct graph_request, base)},
	VIEW_PIN_OPTION(struct graph_request, pin),
	{0},
};

static void take_options(struct call *call, struct graph_request *request)
{
	call_options(call, request);
	request->json = call->json;
	request->pretty = call->pretty;
	if (call->json && (request->format != FORMAT_DOT || request->base))
		call_usage_error(call, "-j is a format of its own: leave --format and --compare");
	if (request->base && request->format != FORMAT_HTML)
		call_usage_error(call, "--compare needs --format html");
	if (request->format == FORMAT_HTML && (request->filter.ns || request->filter.has_point))
		call_usage_error(
			call,
			"--format html has filters on the page: leave --namespace and --port");
}

/* @policies: with --compare the older one first. */
static int draw_to(const struct graph_request *request, const struct policy *const policies[],
		   size_t n, const struct flow_classes *kinds)
{
	struct output output;
	FILE *to;
	int error = output_open(&output, request->output);

	if (error)
		return STATUS_KERNEL;
	to = output.to;
	if (request->format == FORMAT_HTML)
		error = graph_page(to, policies, n, kinds);
	else if (request->format == FORMAT_SVG)
		error = graph_svg(to, policies[0], kinds, &request->filter);
	else if (request->json)
		error = graph_json(to, policies[0], kinds, &request->filter, request->pretty);
	else
		error = graph_dot(to, policies[0], kinds, &request->filter);
	if (error == -E2BIG)
		command_error(
			"there are too many namespaces for one picture: --namespace draws one");
	return status_of(output_close(&output, error));
}

static int draw(const struct graph_request *request, const struct policy *const policies[],
		size_t n)
{
	struct flow_classes kinds;
	int error = flow_classes_list(policies, n, &kinds), status;

	if (error) {
		command_error("out of memory");
		return status_of(error);
	}
	status = draw_to(request, policies, n, &kinds);
	flow_classes_free(&kinds);
	return status;
}

static int run(struct call *call)
{
	struct graph_request request = {0};
	struct diag diag = command_diag();
	struct policy *base = NULL;
	const struct policy *policies[FLOW_CLASSES_POLICIES];
	struct view view;
	size_t n = 0;
	int status;

	take_options(call, &request);
	if (request.base) {
		status = status_of(inputs_policy((char *[]){(char *)request.base}, 1, NULL, &diag,
						 &base, NULL));
		if (status)
			return status;
		policies[n++] = base;
	}
	status = view_open(&view, call, request.pin);
	if (!status) {
		policies[n++] = view.policy;
		status = draw(&request, policies, n);
		view_close(&view);
	}
	policy_free(base);
	return status;
}

const struct command command_graph = {
	.name = "graph",
	.operands = "[INPUT...]",
	.help = "draw who reaches whom, as DOT, SVG or an HTML page",
	.options = options,
	.run = run,
};
