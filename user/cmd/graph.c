// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead graph`: draws who reaches whom, as a picture or as an HTML page. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/end.h"
#include "cmd/graph.h"
#include "cmd/inputs.h"
#include "cmd/output.h"
#include "cmd/view.h"

enum format { FORMAT_DOT, FORMAT_SVG, FORMAT_HTML };

static const char *const formats[] = {
	[FORMAT_DOT] = "dot",
	[FORMAT_SVG] = "svg",
	[FORMAT_HTML] = "html",
};

struct request {
	enum format format;
	bool json, pretty; /* print JSON, not DOT */
	struct graph_filter filter;
	char *base; /* --compare: the older policy; NULL: none */
	const char *output; /* NULL: standard output */
	const char *pin;
};

enum {
	NAMESPACE_ID = VIEW_PIN_ID + 1,
	COMPARE_ID,
};

static const struct command_option options[] = {
	{'f', "format", "FORMAT", "dot (the default), svg (by graphviz), or html: one page"},
	{'o', "output", "FILE", "the file to write; else standard output"},
	{'P', "port", "PORT", "dot and svg: only flows to TCP/80, UDP/53, ICMP, ..."},
	{NAMESPACE_ID, "namespace", "NS", "dot and svg: only this namespace and its peers"},
	{COMPARE_ID, "compare", "OLD", "html: show the difference from OLD to INPUT"},
	VIEW_PIN_OPTION,
	{0},
};

static void take_format(const struct call *call, struct request *request)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(call->value, formats[i]))
			continue;
		request->format = i;
		return;
	}
	call_usage_error(call, "--format %s: not one of dot, svg and html", call->value);
}

static void take_port(const struct call *call, struct request *request)
{
	char why[FLOW_TEXT];
	struct flow flow;

	if (port_parse(call->value, &flow, why))
		call_usage_error(call, "%s", why);
	request->filter.point = bh_point(flow.protocol, flow.port);
	request->filter.has_point = true;
}

static void take_options(struct call *call, struct request *request)
{
	int id;

	while ((id = call_option(call)) != -1) {
		if (id == 'f')
			take_format(call, request);
		else if (id == 'o')
			request->output = call->value;
		else if (id == 'P')
			take_port(call, request);
		else if (id == NAMESPACE_ID)
			request->filter.ns = call->value;
		else if (id == COMPARE_ID)
			request->base = call->value;
		else
			request->pin = call->value;
	}
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

/* Starts graphviz's dot. The caller writes a graph to the returned stream; dot writes the
 * drawing to @output. */
static FILE *open_dot(const struct output *output)
{
	FILE *dot;

	fflush(stdout);
	if (output->path && dup2(fileno(output->to), STDOUT_FILENO) < 0) {
		command_error("%s: %s", output->path, strerror(errno));
		return NULL;
	}
	dot = popen("dot -Tsvg", "w");
	if (!dot)
		command_error("cannot run dot: %s", strerror(errno));
	return dot;
}

static int close_dot(FILE *dot)
{
	int status = pclose(dot);

	if (status == 0)
		return STATUS_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		command_error("--format svg needs graphviz's dot: apt-get install graphviz");
	else
		command_error("dot ended with an error");
	return STATUS_KERNEL;
}

static int draw_svg(const struct request *request, const struct policy *policy,
		    const struct kinds *kinds)
{
	struct output output;
	FILE *dot;
	int status, error = output_open(&output, request->output);

	if (error)
		return STATUS_KERNEL;
	dot = open_dot(&output);
	error = dot ? graph_dot(dot, policy, kinds, &request->filter) : -EIO;
	status = dot ? close_dot(dot) : STATUS_KERNEL;
	error = output_close(&output, error || !status ? error : -EIO);
	return status ? status : status_of(error);
}

/* @policies: with --compare the older one first. */
static int draw_text(const struct request *request, const struct policy *const policies[], size_t n,
		     const struct kinds *kinds)
{
	struct output output;
	FILE *to;
	int error = output_open(&output, request->output);

	if (error)
		return STATUS_KERNEL;
	to = output.to;
	if (request->format == FORMAT_HTML)
		error = graph_page(to, policies, n, kinds);
	else if (request->json)
		error = graph_json(to, policies[0], kinds, &request->filter, request->pretty);
	else
		error = graph_dot(to, policies[0], kinds, &request->filter);
	return status_of(output_close(&output, error));
}

static int draw(const struct request *request, const struct policy *const policies[], size_t n)
{
	struct kinds kinds;
	int error = kinds_list(policies, n, &kinds), status;

	if (error) {
		command_error("out of memory");
		return status_of(error);
	}
	if (request->format == FORMAT_SVG)
		status = draw_svg(request, policies[0], &kinds);
	else
		status = draw_text(request, policies, n, &kinds);
	kinds_free(&kinds);
	return status;
}

static int run(struct call *call)
{
	struct request request = {0};
	struct diag diag = command_diag();
	struct policy *base = NULL;
	const struct policy *policies[KINDS_POLICIES];
	struct view view;
	size_t n = 0;
	int status;

	take_options(call, &request);
	if (request.base) {
		status = status_of(inputs_policy(&request.base, 1, NULL, &diag, &base, NULL));
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
