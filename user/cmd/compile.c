/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead compile`: compiles inputs into one file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/replay.h"
#include "cmd/command.h"
#include "cmd/inputs.h"
#include "cmd/emit.h"
#include "cmd/output.h"
#include "policy/blob_file.h"
#include "policy/delta.h"

/* Makes the bytes of the policy, or with @base of the delta from it. */
static int make_bytes(const struct policy *base, struct policy *policy, void **bytes, size_t *size)
{
	struct delta *delta = NULL;
	int error = blob_write(policy, bytes, size);

	if (error || !base)
		return error;
	free(*bytes);
	error = delta_make(base, policy, &delta);
	if (!error)
		error = delta_write(delta, bytes, size);
	delta_free(delta);
	return error;
}

/* Returns 0 or -errno, reported. @path: NULL after the call if the bytes are in standard output. */
static int write_policy(const char **path, const struct policy *base, struct policy *policy,
			size_t *size)
{
	struct output output;
	void *bytes;
	int error = make_bytes(base, policy, &bytes, size);

	if (error) {
		command_error("cannot write the policy: %s", strerror(-error));
		return error;
	}
	error = output_open(&output, *path);
	*path = output.path;
	if (!error) {
		fwrite(bytes, 1, *size, output.to);
		error = output_close(&output, 0);
	}
	free(bytes);
	return error;
}

static const char usage_tty[] =
	"a compiled policy is binary, not for a terminal: use -o FILE, or redirect the output";

static size_t living_segments(const struct policy *policy)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_segments; i++)
		n += !policy->segments[i].delete_generation;
	return n;
}

static void report(const struct call *call, const char *path, const struct policy *policy,
		   size_t size)
{
	struct emit emit = emit_begin(call);

	emit_say(&emit, "%s: generation %u, %zu endpoints in %zu segments, %zu pairs, %zu bytes\n",
		 path, policy->generation, policy->n_endpoints, living_segments(policy),
		 policy->n_pairs, size);
	emit_object(&emit, NULL);
	emit_text(&emit, "file", path);
	emit_number(&emit, "generation", policy->generation);
	emit_number(&emit, "endpoints", policy->n_endpoints);
	emit_number(&emit, "segments", living_segments(policy));
	emit_number(&emit, "pairs", policy->n_pairs);
	emit_number(&emit, "rules", policy->n_rules);
	emit_number(&emit, "bytes", size);
	emit_end(&emit);
}

struct compile_request {
	const char *path; /* NULL: standard output */
	const char *base; /* NULL: none */
	bool delta;
	bool force; /* leave out objects that look like policies and are not read */
	bool events; /* the input is a stream of watch events */
};

static int events_policy(const char *path, const struct policy *base, struct diag *diag,
			 struct policy **policy)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *from = is_stdin ? stdin : fopen(path, "re");
	int error;

	if (!from) {
		command_error("%s: %s", path, strerror(errno));
		return -EINVAL;
	}
	error = replay_compile(from, is_stdin ? "standard input" : path, base, diag, policy);
	if (!is_stdin)
		fclose(from);
	return error;
}

static int compile(const struct call *call, const struct compile_request *request)
{
	struct diag diag = command_diag();
	struct policy *base = NULL, *policy = NULL;
	struct cluster *cluster = NULL;
	struct inputs_base changed = {.name = request->base};
	const char *path = request->path;
	size_t size = 0;
	int error = 0;

	if (request->base)
		error = inputs_blob(request->base, &diag, &base);
	changed.policy = base;
	if (!error && request->events)
		error = events_policy(call->operands[0], base, &diag, &policy);
	else if (!error)
		error = inputs_audited(call->operands, call->n_operands, base ? &changed : NULL,
				       &(struct inputs_audit){0}, &diag, &policy, &cluster);
	if (!error)
		error = inputs_check(cluster, request->force, &diag);
	if (!error)
		error = write_policy(&path, request->delta ? base : NULL, policy, &size);
	if (!error && path)
		report(call, path, policy, size);
	inputs_free_cluster(cluster);
	policy_free(policy);
	policy_free(base);
	return status_of(error);
}

static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && S_ISREG(a.st_mode) && !stat(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Refuses an output that would replace what it is made from: a delta is nothing without its base.
 * A policy may replace its base. */
static void check_output(const struct call *call, const struct compile_request *request)
{
	for (int i = 0; request->path && i < call->n_operands; i++)
		if (is_same_file(request->path, call->operands[i]))
			call_usage_error(call, "%s: is an INPUT, which the output would replace",
					 request->path);
	if (request->path && request->delta && is_same_file(request->path, request->base))
		call_usage_error(call, "%s: is the base, which the delta would replace",
				 request->path);
}

static const struct command_option options[] = {
	{'o', "output", "FILE", "the file to write; else standard output",
	 OPTION_TEXT(struct compile_request, path)},
	{'b', "base", "PREV",
	 "the previous compiled policy: unchanged rules and segments keep their IDs",
	 OPTION_TEXT(struct compile_request, base)},
	{'D', "delta", NULL,
	 "write only the difference from PREV; load and diff take it where PREV is active",
	 OPTION_FLAG(struct compile_request, delta)},
	{0, "events", NULL,
	 "INPUT is a stream of watch events, as kubectl get --watch --output-watch-events -o json "
	 "prints them",
	 OPTION_FLAG(struct compile_request, events)},
	{0, "force", NULL, "leave out objects that look like policies and are not read",
	 OPTION_FLAG(struct compile_request, force)},
	{0},
};

static int run(struct call *call)
{
	struct compile_request request = {0};

	call_options(call, &request);
	if (!call->n_operands)
		call_usage_error(call, "needs an INPUT to compile");
	if (request.delta && !request.base)
		call_usage_error(call,
				 "--delta needs --base: the policy that the delta begins from");
	if (request.events && call->n_operands > 1)
		call_usage_error(call, "%s: --events takes one stream", call->operands[1]);
	check_output(call, &request);
	if (!request.path && isatty(STDOUT_FILENO))
		call_usage_error(call, "%s", usage_tty);
	return compile(call, &request);
}

const struct command command_compile = {
	.name = "compile",
	.operands = "INPUT...",
	.help = "compile inputs into one file that load, trace and the others take",
	.options = options,
	.run = run,
};
