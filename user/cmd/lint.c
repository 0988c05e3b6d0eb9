/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead lint`: reports policies that are valid and probably not what their author meant. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/inputs.h"
#include "cmd/lint_learned.h"
#include "cmd/screen.h"
#include "compile/compile.h"
#include "compile/lint.h"
#include "node/node.h"

/* Debian's package publicsuffix. */
#define SUFFIXES "/usr/share/publicsuffix/public_suffix_list.dat"

/* Returns the Public Suffix List, to be freed. NULL: this machine has none. */
static char *read_suffixes(void)
{
	FILE *file = fopen(SUFFIXES, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	/* the file has no NUL, so that one piece is all of it */
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static int report(const struct call *call, const struct lint_findings *findings)
{
	struct emit emit = emit_begin(call);

	emit_array(&emit, NULL);
	for (size_t i = 0; i < findings->n; i++) {
		const struct lint_finding *finding = &findings->at[i];

		emit_say(&emit, "%s:%u: %s%s%s: %s [%s]\n", finding->where.file,
			 finding->where.line, paint_on(PAINT_BOLD), finding->object, paint_off(),
			 finding->text, finding->check);
		emit_object(&emit, NULL);
		emit_text(&emit, "check", finding->check);
		emit_text(&emit, "file", finding->where.file);
		emit_number(&emit, "line", finding->where.line);
		emit_text(&emit, "object", finding->object);
		emit_text(&emit, "text", finding->text);
		emit_end(&emit);
	}
	emit_end(&emit);
	return findings->n ? STATUS_NO : STATUS_OK;
}

struct lint_request {
	const char *pin;
	bool learned;
};

static const struct command_option options[] = {
	{0, "learned", NULL, "look at what this node's pods have learned by domain names, too",
	 OPTION_FLAG(struct lint_request, learned)},
	PIN_OPTION(struct lint_request, pin),
	{0},
};

static int run(struct call *call)
{
	struct lint_request request = {0};
	struct lint_findings findings = {0};
	struct policy *policy = NULL;
	char *suffixes = NULL;
	struct cluster cluster;
	struct diag diag = command_diag();
	int error, status;

	call_options(call, &request);
	if (!call->n_operands)
		call_usage_error(call, "needs an INPUT to check");
	cluster_init(&cluster);
	cluster.workloads = true;
	error = inputs_cluster(call->operands, call->n_operands, &cluster, &diag);
	if (!error)
		error = compile_cluster(&cluster, NULL, &diag, &policy);
	if (!error) {
		suffixes = read_suffixes();
		error = lint(&cluster, policy, suffixes, &findings);
	}
	status = status_of(error);
	if (!status && request.learned)
		status = lint_learned(&cluster, request.pin, &findings);
	if (!status)
		status = report(call, &findings);
	/* what looks like a policy and is not read has a warning, and load refuses it */
	if (!status && cluster.n_unread)
		status = STATUS_NO;
	lint_free(&findings);
	free(suffixes);
	policy_free(policy);
	cluster_free(&cluster);
	return status;
}

const struct command command_lint = {
	.name = "lint",
	.operands = "INPUT...",
	.help = "report policies that are valid and probably not meant; status 1 if there are any",
	.options = options,
	.run = run,
};
